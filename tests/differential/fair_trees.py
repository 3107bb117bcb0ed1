# SPDX-License-Identifier: Apache-2.0
"""Trees of accounts with shares and usage, and what Slurm's Fair Tree makes of them.

Jobs of known sizes give every user some usage. Then, tree by tree, parents and shares are set at random (from a seed) and slurmctld is
restarted, which computes everything anew; `sshare -alP` is what it says. Usage moves along with its users, so each tree has the numbers
that Slurm itself counted. Our code gets exactly these raw shares and raw usages (src/model/fair_tree_slurm_test.cc)."""
import os
import random
import re
import subprocess

from spur_cluster import BIN, wait_until

ACCOUNTS = [f"t{i}" for i in range(1, 9)]
USERS = ["root", "games", "daemon", "lp", "bin", "sys", "mail", "news"]
COLUMNS = "account,user,rawshares,normshares,rawusage,normusage,effectvusage,fairshare,levelfs"


def share(dice, of_user):
    # "parent" lets usage count as the account's, 0 is no share at all.
    return dice.choice([1, 1, 2, 3, 5, 10, 100, dice.randint(1, 1000)] + (["parent", 0] if of_user else ["parent"] if dice.random() < 0.3 else []))


def told(side, lines):
    """Many lines to one sacctmgr."""
    (side.work / "typed").write_text("".join(line + "\n" for line in lines))
    return side.shell("sacctmgr -i < typed")


def give_usage(side, dice):
    pairs = [(account, user) for account in ACCOUNTS for user in dice.sample(USERS, 3)]
    told(side, [f"add account {a}" for a in ACCOUNTS])
    told(side, [f"add user {u} account={a}" for a, u in pairs])
    for account, user in pairs[:-3]:  # some never ran anything
        cpus, sleep = dice.randint(1, 4), dice.randint(1, 3)
        side.shell(f"sbatch -D /tmp -o /dev/null -A {account} -n{cpus} -N1 --mem=10 --wrap 'sleep {sleep}'", user)
    wait_until(lambda: not side.shell("squeue -h")[0], 120, "jobs of the trees have ended", 0.5)
    return pairs


def plant(side, dice, pairs):
    told(side, [f"modify account {a} set parent=root fairshare=1" for a in ACCOUNTS])
    lines = []
    for i, account in enumerate(ACCOUNTS):
        parent = dice.choice(["root"] + ACCOUNTS[:i])
        lines.append(f"modify account {account} set fairshare={share(dice, False)}")
        if parent != "root":
            lines.append(f"modify account {account} set parent={parent}")
    lines += [f"modify user {u} where account={a} set fairshare={share(dice, True)}" for a, u in pairs]
    told(side, lines)
    side.kill("slurmctld")
    side.start_controller()


def counted(side):
    out = side.shell(f"sshare -anP -o {COLUMNS}")[0]
    rows = [line.split("|") for line in out.splitlines()]
    return out if len(rows) > len(ACCOUNTS) and all(r[7] for r in rows if r[1]) and any(r[8] not in ("", "inf") for r in rows) else ""


def grow(side, count, seed=1):
    """The text of `count` trees."""
    dice = random.Random(seed)
    pairs = give_usage(side, dice)
    # The usage of jobs is added up once a minute, and when slurmctld ends.
    side.kill("slurmctld")
    side.start_controller()
    text = []
    for number in range(1, count + 1):
        plant(side, dice, pairs)
        text.append(f"tree {number}\n" + wait_until(lambda: counted(side), 90, "Slurm has computed the shares", 0.3))
    return "".join(text)


def compare(slurm, counts, trees=20):
    """Counts a tree as equal if all its factors are."""
    path = slurm.dir / "trees.txt"
    path.write_text(grow(slurm, trees))
    r = subprocess.run([BIN / "spur_model_test", "--gtest_filter=FairTreeOfSlurm.*"], capture_output=True, text=True,
                       env={**os.environ, "SPUR_FAIR_TREES": str(path)})
    wrong = len(set(re.findall("^(tree \\d+) differs", r.stdout, re.M))) or int(r.returncode != 0)
    print(f"accounting: {trees} trees of shares, {wrong} with other factors", flush=True)
    if wrong:
        print(r.stdout + r.stderr)
    counts["compared"] += trees
    counts["equal"] += trees - wrong
    counts["unexplained"] += wrong
