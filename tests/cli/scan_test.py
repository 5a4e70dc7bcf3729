#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scan as people use it on folders and in scripts, and what other commands say of files that would run code.

usage: scan_test.py PROGRAM"""
import json
import os
import pickle
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))
DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data")


def data(name):
    with open(os.path.join(DATA, name), "rb") as f:
        return f.read()


class Runs:
    """What unpickling would call os.system for."""

    def __reduce__(self):
        return os.system, ("true",)


EVIL = pickle.dumps({"a": Runs()}, 2)


class Scan(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, name, content):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(content)

    def run_assay(self, *words, cwd=""):
        done = subprocess.run([PROGRAM, *words], cwd=os.path.join(self.folder, cwd), capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout, done.stderr

    def json(self, *words, cwd=""):
        return json.loads(self.run_assay(*words, "--json", cwd=cwd)[1])


class OtherCommands(Scan):
    def warnings(self, document):
        return [f for f in document["findings"] if f["code"] == "dangerous-import"]

    def test_of_what_would_run_code(self):
        self.write("evil model.pkl", EVIL)
        command = "assay scan 'evil model.pkl'"
        for name, code in ("info", 0), ("doctor", 1), ("verify", 0):
            with self.subTest(name):
                self.assertEqual(self.run_assay(name, "evil model.pkl")[0], code)
                text = self.run_assay(name, "evil model.pkl")[1]
                self.assertIn("not safe to load: imports 'posix.system', which runs commands", text)
                self.assertIn(command, text)
                document = self.json(name, "evil model.pkl")
                (warning,) = self.warnings(document)
                self.assertEqual(warning["severity"], "warning")
                self.assertEqual(warning["imports"], ["posix.system"])
                self.assertIn(command, warning["message"])
                self.assertTrue(document["complete"])
        self.assertIs(self.json("doctor", "evil model.pkl")["healthy"], False)
        self.assertNotIn("healthy", self.run_assay("doctor", "evil model.pkl")[1])
        (next_line,) = [line for line in self.run_assay("info", "evil model.pkl")[1].splitlines() if line.startswith("  next ")]
        self.assertIn(command, next_line)

    def test_of_what_would_not(self):
        self.write("unknown.pt", data("torch/wrapper.pt"))  # a class of the writer's own: scan asks, and nobody need be warned
        self.write("plain.pt", data("torch/train.pt"))
        for file in "unknown.pt", "plain.pt":
            for name in "info", "doctor", "verify":
                self.assertEqual(self.warnings(self.json(name, file)), [], (name, file))
            self.assertNotIn("assay scan", self.run_assay("info", file)[1])

    def test_the_file_of_a_set_is_named(self):
        names = [f"pytorch_model-0000{i}-of-00002.bin" for i in (1, 2)]
        self.write(f"model/{names[0]}", data("torch/views.pt"))
        self.write(f"model/{names[1]}", EVIL)
        index = {"metadata": {}, "weight_map": {"base": names[0], "x": names[1]}}
        self.write("model/pytorch_model.bin.index.json", json.dumps(index).encode())
        (warning,) = self.warnings(self.json("info", "model"))
        self.assertEqual(warning["file"], names[1])
        self.assertIn(f"assay scan model/{names[1]} ", warning["message"])

    def test_more_names_than_are_noted(self):
        globals_ = b"".join(b"cmy.own\nName%d\n0" % i for i in range(1200))
        self.write("many.pkl", b"\x80\x02" + globals_ + b"cposix\nsystem\n(S'true'\ntR.")
        (warning,) = self.warnings(self.json("info", "many.pkl"))
        self.assertIn("more names", warning["message"])

    def test_names_do_not_reach_the_terminal(self):
        name = "\x1b[31mred.pkl"
        self.write(name, EVIL)
        for command in "info", "doctor", "verify":
            _, out, err = self.run_assay(command, name)
            self.assertNotIn("\x1b", out + err, command)
        self.assertIn(r"assay scan $'\x1b[31mred.pkl'", self.run_assay("info", name)[1])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + ["-v"] if len(sys.argv) == 1 else sys.argv)
