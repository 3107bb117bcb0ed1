# SPDX-License-Identifier: Apache-2.0
"""Trees of accounts with shares and usage, and what Slurm's Fair Tree makes of them.

Jobs of known sizes give every user some usage. Then, tree by tree, parents and shares are set at random (from a seed) and slurmctld is
restarted, which computes everything anew; `sshare -alP` is what it says. Usage moves along with its users, so each tree has the numbers
that Slurm itself counted. Our code gets exactly these raw shares and raw usages (src/model/fair_tree_slurm_test.cc)."""
import concurrent.futures
import os
import random
import re
import subprocess
import tempfile

from spur_cluster import BIN, wait_until

ACCOUNTS = [f"t{i}" for i in range(1, 9)]
USERS = ["root", "games", "daemon", "lp", "bin", "sys", "mail", "news"]
COLUMNS = "account,user,rawshares,normshares,rawusage,normusage,effectvusage,fairshare,levelfs"


def share(dice, of_user):
    # "parent" lets usage count as the account's, 0 is no share at all.
    return dice.choice([1, 1, 2, 3, 5, 10, 100, dice.randint(1, 1000)] + (["parent", 0] if of_user else ["parent"] if dice.random() < 0.3 else []))


def told(side, lines):
    """Many lines to one sacctmgr. What it refuses stays as it was, on which `planted` stumbles."""
    with tempfile.NamedTemporaryFile("w", dir=side.work) as typed:
        typed.write("".join(line + "\n" for line in lines))
        typed.flush()
        side.shell(f"sacctmgr -i < {typed.name}")


def told_at_once(side, lines, sessions=4):
    """As above, for lines whose order does not matter: a line takes 0.4 s, nearly all of it in waiting for packets."""
    with concurrent.futures.ThreadPoolExecutor(sessions) as pool:
        list(pool.map(lambda i: told(side, lines[i::sessions]), range(sessions)))


def give_usage(side, dice):
    pairs = [(account, user) for account in ACCOUNTS for user in dice.sample(USERS, 3)]
    told(side, [f"add account {','.join(ACCOUNTS)}"])
    told(side, [f"add user {user} account={','.join(a for a, u in pairs if u == user)}" for user in USERS])
    for account, user in pairs[:-3]:  # some never ran anything
        cpus, sleep = dice.randint(1, 4), dice.randint(1, 3)
        side.shell(f"sbatch -D /tmp -o /dev/null -A {account} -n{cpus} -N1 --mem=10 --wrap 'sleep {sleep}'", user)
    wait_until(lambda: not side.shell("squeue -h")[0], 120, "jobs of the trees have ended", 0.5)
    return pairs


def plant(side, dice, pairs):
    # One by one: of accounts that are equal Slurm takes the one first that was moved last, we the youngest.
    told(side, [f"modify account {a} set parent=root fairshare=1" for a in ACCOUNTS])
    lines, shares = [], {}
    for i, account in enumerate(ACCOUNTS):
        parent = dice.choice(["root"] + ACCOUNTS[:i])
        shares[account, ""] = share(dice, False)
        lines.append(f"modify account {account} set fairshare={shares[account, '']}" + (f" parent={parent}" if parent != "root" else ""))
    for account, user in pairs:
        shares[account, user] = share(dice, True)
    told(side, lines)
    told_at_once(side, [f"modify user {u} where account={a} set fairshare={shares[a, u]}" for a, u in pairs])
    side.kill("slurmctld")
    side.start_controller()
    return shares


def planted(text, shares):
    """Whether the tree is the one that was meant."""
    rows = [line.split("|") for line in text.splitlines()]
    return {(r[0].strip(), r[1]): r[2] for r in rows if r[0].strip() in ACCOUNTS} == {k: str(v) for k, v in shares.items()}


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
        shares = plant(side, dice, pairs)
        tree = wait_until(lambda: counted(side), 90, "Slurm has computed the shares", 0.3)
        if not planted(tree, shares):
            raise AssertionError(f"tree {number} is not as it was planted: {shares}\n{tree}")
        text.append(f"tree {number}\n{tree}")
    return "".join(text)


def compare(slurm, counts, trees=20):
    """Counts a tree as equal if all its factors are."""
    path = slurm.dir / "trees.txt"
    path.write_text(grow(slurm, trees))
    r = subprocess.run([BIN / "spur_model_test", "--gtest_filter=FairTreeOfSlurm.*"], capture_output=True, text=True,
                       env={**os.environ, "SPUR_FAIR_TREES": str(path)})
    wrong = len(set(re.findall("^(tree \\d+) differs", r.stdout, re.M))) or int(r.returncode != 0)
    print(f"{trees} trees of shares, {wrong} with other factors", flush=True)
    if wrong:
        print(path.read_text() + r.stdout + r.stderr)
    counts["compared"] += trees
    counts["equal"] += trees - wrong
    counts["unexplained"] += wrong
