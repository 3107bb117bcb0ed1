# SPDX-License-Identifier: Apache-2.0
"""Bytes that nobody meant for us, on every socket of the controller: it goes on answering, and neither its memory nor its
open files grow."""
import os
import random
import re
import socket
import struct
import unittest

from spur_cluster import SpurCluster, wait_until

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
ROUNDS = 30


def frame(kind, flags, stream, payload):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def header(name, value):
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


def call(length, body):
    """A well-formed gRPC call whose message claims to have `length` bytes."""
    headers = b"".join(header(n, v) for n, v in (
        (b":method", b"POST"), (b":scheme", b"http"), (b":path", b"/spur.v1.Controller/SubmitJob"), (b":authority", b"x"),
        (b"content-type", b"application/grpc"), (b"te", b"trailers")))
    return (PREFACE + frame(4, 0, 0, b"") + frame(1, 4, 1, headers) +
            frame(0, 0, 1, b"\0" + struct.pack(">I", length) + body))


def garbage(seed):
    rng = random.Random(seed)
    yield b"\0" * 1000
    yield b"\xff" * 1000
    yield rng.randbytes(65536)
    yield b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
    yield PREFACE + b"\xff\xff\xff" + b"\0" * 100                    # a frame of 16 MiB
    yield PREFACE + frame(4, 0, 0, rng.randbytes(600))               # settings that mean nothing
    yield PREFACE + frame(1, 4, 1, rng.randbytes(200))               # headers that do not decompress
    yield PREFACE + b"".join(frame(0, 0, 2 * i + 1, b"x" * 100) for i in range(50))
    yield call(0xFFFFFFFF, b"x" * 1000)                              # a message of 4 GiB
    yield call(0x7FFFFFFF, b"")
    yield call(100, rng.randbytes(100))                              # a message that is none
    yield struct.pack("<I", 0xFFFFFFFF) + b"x" * 100                 # the auth socket's length
    yield struct.pack("<I", 1000) + rng.randbytes(1000)
    yield struct.pack("<I", 100) + b"half"


class Garbage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.c = SpurCluster(cpus=2).__enter__()
        cls.agent_port = int(re.search(r"\bPort=(\d+)", cls.c.out("scontrol", "show", "node", "n1"))[1])

    @classmethod
    def tearDownClass(cls):
        cls.c.__exit__(None, None, None)

    def connect(self, where):
        if where == "tcp":
            s = socket.create_connection(("127.0.0.1", self.c.port), 60)
        elif where == "agent":
            s = socket.create_connection(("127.0.0.1", self.agent_port), 60)
        else:
            s = socket.socket(socket.AF_UNIX)
            s.settimeout(60)
            s.connect(str(self.c.dir / "state" / where))
        return s

    def throw(self, where, data, listen):
        with self.connect(where) as s:
            try:
                s.sendall(data)
                s.shutdown(socket.SHUT_WR)
                while listen and s.recv(65536):
                    pass
            except OSError:
                pass  # it hung up: as good an answer as any

    def memory_kib(self):
        with open(f"/proc/{self.c.pid('spurctld')}/status") as f:
            return int(next(l for l in f if l.startswith("VmRSS:")).split()[1])

    def open_files(self):
        return len(os.listdir(f"/proc/{self.c.pid('spurctld')}/fd"))

    def answers(self):
        self.assertIsNone(self.c.processes["spurctld"].poll())
        job = self.c.sbatch("-H", "--wrap", "true")
        self.assertEqual(self.c.state(job), "PENDING")
        self.c.run("scancel", job)

    def test_garbage(self):
        for where in ("tcp", "ctld.sock", "auth.sock"):
            with self.subTest(where=where):
                def one_round(seed):
                    for data in garbage(seed):
                        self.throw(where, data, listen=seed % 2 == 0)
                for seed in range(5):  # what is allocated once is allocated now
                    one_round(seed)
                self.answers()
                files, memory = self.open_files(), self.memory_kib()
                for seed in range(ROUNDS):
                    one_round(seed)
                self.answers()
                wait_until(lambda: self.open_files() <= files + 8, 60, "closed connections are closed")
                # 30 rounds bring 2.5 MB and claim 180 GB.
                self.assertLess(self.memory_kib() - memory, 16 * 1024)

    def test_garbage_to_the_agent(self):
        for seed in range(ROUNDS):
            for data in garbage(seed):
                self.throw("agent", data, listen=False)
        self.assertIsNone(self.c.processes["spurd-n1"].poll())
        self.assertEqual(self.c.out("srun", "echo", "still there"), "still there\n")

    def test_half_a_request_and_silence(self):
        for where, count in (("tcp", 300), ("ctld.sock", 300), ("auth.sock", 100)):
            with self.subTest(where=where):
                memory = self.memory_kib()
                half = b"\x20\0\0\0ab" if where == "auth.sock" else call(1000, b"x" * 10)
                silent = []
                try:
                    for i in range(count):
                        silent.append(self.connect(where))
                        silent[-1].sendall(half if i % 2 else half[:3])
                    self.answers()
                    self.assertLess(self.memory_kib() - memory, 64 * 1024)
                finally:
                    for s in silent:
                        s.close()
                self.answers()

    def test_more_silence_than_a_users_share_of_the_auth_socket(self):
        silent = []
        try:
            for _ in range(300):
                s = self.connect("auth.sock")
                silent.append(s)
            # Each place is taken away after a second.
            wait_until(lambda: self.c.run("squeue", check=False).returncode == 0, 60, "a credential for the same user")
        finally:
            for s in silent:
                s.close()
        self.answers()


if __name__ == "__main__":
    unittest.main()
