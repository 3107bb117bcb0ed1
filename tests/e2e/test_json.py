# SPDX-License-Identifier: Apache-2.0
"""--json and --yaml: every field of Slurm's data parser is there, with its type, and means what the text says."""
import json
import pathlib
import re
import unittest

from spur_cluster import SpurCluster

FIELDS = pathlib.Path(__file__).resolve().parents[1] / "support" / "api_fields_v0.0.42.txt"


def read_fields():
    objects = {}
    for line in FIELDS.read_text().split("\n"):
        if line.startswith("["):
            current = objects.setdefault(line.strip("[]"), {})
        elif line and not line.startswith("#"):
            path, kind = line.split()
            current[path] = kind
    return objects


OBJECTS = read_fields()


def is_kind(value, kind):
    if kind == "no_val":
        return isinstance(value, dict) and list(value) == ["set", "infinite", "number"] and \
            isinstance(value["set"], bool) and isinstance(value["infinite"], bool) and \
            isinstance(value["number"], (int, float)) and not (value["set"] and value["infinite"])
    if kind in ("string", "bool"):
        return isinstance(value, {"string": str, "bool": bool}[kind])
    if kind.startswith("int"):
        return isinstance(value, int) and not isinstance(value, bool)
    if kind.startswith("float"):
        return isinstance(value, (int, float))
    if kind.startswith(("flags", "array")):
        return isinstance(value, list) and ("string" not in kind and "flags" not in kind or
                                            all(isinstance(item, str) for item in value))
    return isinstance(value, dict)


def mistakes(value, name, where=""):
    """What an object lacks, has too much, or has of another type."""
    found, seen = [], set()
    for path, kind in OBJECTS[name].items():
        at = value
        for step in path.split("."):
            at = at.get(step) if isinstance(at, dict) else None
        seen.add(path.split(".")[0])
        if at is None or not is_kind(at, kind):
            found.append(f"{where}{name}.{path}: {at!r} is not {kind}")
            continue
        inner = re.fullmatch(r"(array<)?object<(\w+)>+", kind)
        if inner and inner[2] in OBJECTS and at:
            for one in at if inner[1] else [at]:
                found += mistakes(one, inner[2], f"{where}{name}.{path}: ")
    return found + [f"{where}{name}.{key}: unknown" for key in value if key not in seen]


class Json(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.c = SpurCluster(nodes=2, cpus=4, memory_mb=4000, node='features = ["fast"]')
        cls.c.write_conf("licenses = { matlab = 3 }\n" + cls.c.conf.read_text())
        cls.c.__enter__()
        cls.job = cls.c.sbatch("-o", "/dev/null", "-n2", "--mem=100", "-L", "matlab:1", "-t", "30", "-J", "odd \"name\" \x1b",
                               "--wrap", "srun -n1 sleep 100")
        cls.c.wait_state(cls.job, "RUNNING")
        cls.array = cls.c.sbatch("-H", "-a", "1-4%2", "-d", f"afterany:{cls.job}", "--mail-type=ALL,TIME_LIMIT_80", "--wrap", "true")

    @classmethod
    def tearDownClass(cls):
        cls.c.run("scancel", "--me", "-Q", check=False)
        cls.c.__exit__(None, None, None)

    def ask(self, *words):
        return json.loads(self.c.out(*words))

    def check(self, payload, name, *words):
        answer = self.ask(*words)
        self.assertEqual(mistakes(answer["meta"], "openapi_meta"), [])
        self.assertEqual((answer["errors"], answer["warnings"]), ([], []))
        self.assertEqual(answer["meta"]["command"], list(words))
        rows = answer[payload] if isinstance(answer[payload], list) else [answer[payload]]
        self.assertNotEqual(rows, [], words)
        for row in rows:
            self.assertEqual(mistakes(row, name), [], words)
        return rows

    def test_jobs(self):
        for words in (("squeue", "--json"), ("scontrol", "show", "jobs", "--json"), ("scontrol", "--json", "-d", "-a", "show", "jobs")):
            rows = {row["job_id"]: row for row in self.check("jobs", "job_info", *words)}
            row = rows[int(self.job)]
            self.assertEqual((row["job_state"], row["cpus"]["number"], row["licenses"], row["time_limit"]["number"]),
                             (["RUNNING"], 2, "matlab:1", 30))
            self.assertEqual(row["name"], "odd \"name\" \x1b")
            self.assertEqual([n["cpus"]["count"] for n in row["job_resources"]["nodes"]["allocation"]], [2])
            row = rows[int(self.array)]
            self.assertEqual((row["hold"], row["array_task_string"], row["array_max_tasks"]["number"], row["array_task_id"]["set"]),
                             (True, "1-4%2", 2, False))
            self.assertIn("TIME=80%", row["mail_type"])
        self.assertEqual(len(self.ask("squeue", "--json", "-j", str(self.job))["jobs"]), 1)

    def test_steps(self):
        def one():
            return self.ask("squeue", "--steps", "--json")["steps"]
        from spur_cluster import wait_until
        wait_until(one, 30, "a step")
        for words in (("squeue", "--steps", "--json"), ("scontrol", "show", "step", "--json")):
            row = self.check("steps", "cli_step_info", *words)[0]
            self.assertEqual((row["id"], row["number_tasks"], row["state"]), (f"{self.job}.0", 1, ["RUNNING"]))

    def test_nodes_and_partitions(self):
        rows = self.check("nodes", "node", "scontrol", "show", "nodes", "--json", "-F")
        self.assertEqual([row["name"] for row in rows], self.c.out("sinfo", "-h", "-N", "-o", "%N").split())
        self.assertEqual(sorted(row["state"][0] for row in rows), ["IDLE", "MIXED"])
        self.assertEqual(sum(row["alloc_cpus"] for row in rows), 2)
        one = self.check("nodes", "node", "scontrol", "show", "node", rows[0]["name"], "--json")
        self.assertEqual(len(one), 1)
        row = self.check("partitions", "partition_info", "scontrol", "show", "partition", "--json")[0]
        self.assertEqual((row["nodes"]["total"], row["cpus"]["total"], row["partition"]["state"]), (2, 8, ["UP"]))
        self.assertTrue(row["maximums"]["time"]["infinite"])

    def test_sinfo(self):
        rows = self.check("sinfo", "cli_sinfo_data", "sinfo", "--json")
        self.assertEqual(sum(row["nodes"]["total"] for row in rows), 2)
        for row in rows:
            self.assertEqual(mistakes(row["partition"], "partition_info"), [])
        self.assertEqual(len(self.check("sinfo", "cli_sinfo_data", "sinfo", "-N", "--json")), 2)

    def test_reservations(self):
        self.c.run("scontrol", "create", "reservation=later", "starttime=now+1day", "duration=10", "users=root", "nodecnt=1")
        try:
            row = self.check("reservations", "reservation_info", "scontrol", "show", "reservation", "--json")[0]
            self.assertEqual((row["name"], row["node_count"], row["users"]), ("later", 1, "root"))
            self.assertEqual(row["end_time"]["number"] - row["start_time"]["number"], 600)
        finally:
            self.c.run("scontrol", "delete", "reservation=later")

    def test_the_rest(self):
        row = self.check("licenses", "license", "scontrol", "show", "licenses", "--json")[0]
        self.assertEqual((row["LicenseName"], row["Total"], row["Used"], row["Free"]), ("matlab", 3, 1, 2))
        row = self.check("pings", "controller_ping", "scontrol", "ping", "--json")[0]
        self.assertEqual((row["pinged"], row["responding"], row["mode"]), ("UP", True, "primary"))
        row = self.check("statistics", "stats_msg", "sdiag", "--json")[0]
        self.assertEqual((row["jobs_submitted"], row["jobs_started"], row["jobs_running"], row["jobs_pending"]), (2, 1, 1, 4))
        self.assertIn("REQUEST_SUBMIT_BATCH_JOB", [r["message_type"] for r in row["rpcs_by_message_type"]])

    def test_versions(self):
        newer = self.ask("squeue", "--json=v0.0.44")
        self.assertEqual(newer["meta"]["plugin"]["data_parser"], "data_parser/v0.0.44")
        self.assertIn("submit_line", newer["jobs"][0])
        self.assertIn("stdout_expanded", self.ask("squeue", "--json=v0.0.43")["jobs"][0])
        older = self.ask("squeue", "--json=v0.0.41")["jobs"][0]
        self.assertIn("minimum_switches", older)
        self.assertNotIn("required_switches", older)
        oldest = self.ask("squeue", "-t", "R", "--json=v0.0.40")["jobs"][0]["job_resources"]
        self.assertEqual(set(oldest), {"nodes", "allocated_cores", "allocated_cpus", "allocated_hosts", "allocated_nodes"})
        self.assertEqual(oldest["allocated_hosts"], len(oldest["allocated_nodes"]))
        self.assertNotIn("gpu_spec", self.ask("scontrol", "show", "nodes", "--json=v0.0.40")["nodes"][0])
        self.assertNotIn("pending_rpcs", self.ask("sdiag", "--json=v0.0.40")["statistics"])
        listed = self.c.run("squeue", "--json=list")
        self.assertIn("data_parser/v0.0.42", listed.stderr)
        for command in ("squeue", "sinfo", "scontrol", "sdiag"):
            r = self.c.run(command, "--json=v9", check=False)
            self.assertEqual(r.returncode, 1)
            self.assertIn("v9", r.stderr)

    def test_yaml(self):
        """The same document: our YAML is read here by a reader of just what is written."""
        for words in (["squeue"], ["sinfo"], ["scontrol", "show", "nodes"], ["scontrol", "show", "partition"]):
            text = self.c.out(*words, "--yaml")
            self.assertTrue(text.startswith("---\n"), text[:20])
            told, said = read_yaml(text), self.ask(*words, "--json")
            told.pop("meta"), said.pop("meta")
            self.assertEqual(told, said)


def read_yaml(text):
    """Block style, double-quoted keys and strings, two blanks a level: no more is written, no more is read."""
    lines = [line for line in text.split("\n")[1:] if line]
    at = 0

    def value(rest, indent):
        return json.loads(rest) if rest else block(indent + 2)

    def block(indent):
        nonlocal at
        line = lines[at]
        if not line.startswith(" " * indent):
            raise AssertionError(f"indentation of {line!r}")
        if line[indent:].startswith("- "):
            items = []
            while at < len(lines) and lines[at].startswith(" " * indent + "- "):
                rest = lines[at][indent + 2:]
                if re.match(r'"(?:[^"\\]|\\.)*": ?', rest):
                    lines[at] = " " * (indent + 2) + rest
                    items.append(block(indent + 2))
                else:
                    at += 1
                    items.append(json.loads(rest))
            return items
        fields = {}
        while at < len(lines) and lines[at].startswith(" " * indent) and lines[at][indent] == '"':
            key, rest = re.fullmatch(r'("(?:[^"\\]|\\.)*"): ?(.*)', lines[at][indent:]).groups()
            at += 1
            fields[json.loads(key)] = value(rest.strip(), indent)
        return fields
    return block(0)


if __name__ == "__main__":
    unittest.main()
