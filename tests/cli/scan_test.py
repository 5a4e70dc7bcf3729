#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scan as people use it on folders and in scripts, and what other commands say of files that would run code.

usage: scan_test.py PROGRAM"""
import json
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

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
        self.assertEqual(warning["imports"], ["posix.system"])
        self.write("many.pkl", b"\x80\x02" + globals_ + b"N.")
        (warning,) = self.warnings(self.json("info", "many.pkl"))
        self.assertIn("more names", warning["message"])

    def test_of_a_distributed_checkpoint(self):
        shutil.copytree(os.path.join(DATA, "dist", "sharded"), os.path.join(self.folder, "dcp"))
        content = data("dist/sharded/.metadata")
        self.assertEqual(content[:3], b"\x80\4\x95")  # a frame, which pickles need not have
        self.write("dcp/.metadata", content[:2] + b"cposix\nsystem\nX\4\0\0\0true\x85R0" + content[11:])  # called, and thrown away
        for command in "info", "doctor", "verify":
            (warning,) = self.warnings(self.json(command, "dcp"))
            self.assertEqual((warning["file"], warning["imports"]), (".metadata", ["posix.system"]))
            self.assertIn("assay scan dcp/.metadata ", warning["message"])

    def test_names_do_not_reach_the_terminal(self):
        name = "\x1b[31mred.pkl"
        self.write(name, EVIL)
        for command in "info", "doctor", "verify":
            _, out, err = self.run_assay(command, name)
            self.assertNotIn("\x1b", out + err, command)
        self.assertIn(r"assay scan $'\x1b[31mred.pkl'", self.run_assay("info", name)[1])


class Unread(Scan):
    def setUp(self):
        super().setUp()
        self.write("good.pkl", pickle.dumps([1, 2]))
        self.write("empty.pt", b"")
        os.symlink("nowhere", os.path.join(self.folder, "dangling"))
        os.mkfifo(os.path.join(self.folder, "fifo"))

    def verdicts(self, *words):
        document = self.json("scan", *words)
        return document["verdict"], {file["path"]: file["verdict"] for file in document["files"]}

    def test_is_not_clean(self):
        self.assertEqual(self.verdicts("dangling", "fifo"), (None, {"dangling": None, "fifo": None}))
        # What was looked at keeps its verdict; all together are clean only where all were read.
        self.assertEqual(self.verdicts("good.pkl", "fifo"), (None, {"good.pkl": "clean", "fifo": None}))
        self.assertEqual(self.verdicts("good.pkl", "empty.pt"), ("clean", {"good.pkl": "clean", "empty.pt": "clean"}))
        self.write("evil.pkl", EVIL)
        self.assertEqual(self.verdicts("fifo", "evil.pkl"), ("dangerous", {"fifo": None, "evil.pkl": "dangerous"}))

    def test_in_lines(self):
        code, out, _ = self.run_assay("scan", ".", "--ndjson")
        self.assertEqual(code, 2)
        lines = {os.path.basename(line["path"]): line for line in map(json.loads, out.splitlines())}
        self.assertEqual({name: line["verdict"] for name, line in lines.items()},
                         {"good.pkl": "clean", "empty.pt": "clean", "dangling": None, "fifo": None})
        for line in lines.values():
            self.assertEqual(line["verdict"] is None, "error" in line)
            self.assertEqual(line["status"] == "complete", line["path"].endswith("good.pkl"))

    def test_in_sarif(self):
        self.write("evil.pkl", EVIL)

        def run(*words):
            (run,) = json.loads(self.run_assay("scan", *words, "--sarif")[1])["runs"]
            return run

        levels = {}
        whole = run(".")
        for result in whole["results"]:
            levels.setdefault(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].removeprefix("./"), set()).add(result["level"])
        self.assertEqual(levels, {"evil.pkl": {"error"}, "empty.pt": {"warning"}, "dangling": {"warning"}, "fifo": {"warning"}})
        self.assertEqual([i["executionSuccessful"] for i in whole["invocations"]], [False])
        self.assertEqual([i["executionSuccessful"] for i in run("evil.pkl", "empty.pt")["invocations"]], [True])

    def test_one_document_at_a_time(self):
        for flag in "--json", "--ndjson":
            code, out, err = self.run_assay("scan", "good.pkl", flag, "--sarif")
            self.assertEqual(code, 2)
            self.assertIn("--sarif", out + err)
            self.assertNotIn("runs", out)


class Screens(Scan):
    def test_what_would_run_is_the_headline(self):
        layer = {"module": "keras.layers", "class_name": "Lambda", "config": {"function": ["4wEAAAA=", None, None]}}
        with zipfile.ZipFile(os.path.join(self.folder, "model.keras"), "w") as archive:
            archive.writestr("model.weights.h5", b"\x89HDF\r\n\x1a\n" + bytes(100))
            archive.writestr("config.json", json.dumps(layer))
        code, out, _ = self.run_assay("scan", "model.keras")
        self.assertEqual(code, 1)
        lines = out.splitlines()
        self.assertTrue(lines[0].startswith("UNKNOWN  model.keras  config.json has a Lambda layer"), out)
        (header,) = [i for i, line in enumerate(lines) if line.split()[:1] == ["IN"]]
        self.assertIn("Lambda", lines[header + 1])
        self.assertIn("HDF5", lines[header + 2])
        self.assertIn("has a Lambda layer", self.run_assay("scan", "model.keras", "model.keras")[1])


class MemberNames(Scan):
    def archive(self, name, members):
        with zipfile.ZipFile(os.path.join(self.folder, name), "w", zipfile.ZIP_DEFLATED) as archive:
            for member, content in members.items():
                archive.writestr(member, content)

    def test_pickle_lists_what_is_there(self):
        self.archive("inner.zip", {"x.dat": EVIL})
        with open(os.path.join(self.folder, "inner.zip"), "rb") as f:
            inner = f.read()
        self.archive("assets.zip", {"readme.txt": "hello", "assets/logo.jpg": EVIL, "inner.zip": inner})
        expected = ["assets/logo.jpg", "inner.zip/x.dat"]
        for words in ["assets.zip"], ["assets.zip", "quite other"]:
            code, out, err = self.run_assay("pickle", *words)
            self.assertEqual(code, 2)
            self.assertIn("hint: pickles in it: 'assets/logo.jpg', 'inner.zip/x.dat'", err)
            self.assertEqual(self.json("pickle", *words)["error"]["pickles"], expected)
        for member in expected:  # each as it is spelled there
            self.assertIn("posix.system('true')", self.run_assay("pickle", "assets.zip", member)[1])
        self.archive("none.zip", {"readme.txt": "hello", "other.txt": "hello"})
        self.assertIn("no pickle was found in it", self.run_assay("pickle", "none.zip")[2])


class Flags(Scan):
    def setUp(self):
        super().setUp()
        for name in "tree/mal/a.pkl", "tree/mal/deep/b.pkl", "tree/mal.pkl", "tree/other/mal/c.pkl", "tree/good.pkl":
            self.write(name, pickle.dumps(name))

    ALL = {"mal/a.pkl", "mal/deep/b.pkl", "mal.pkl", "other/mal/c.pkl", "good.pkl"}
    OF_MAL = {"mal/a.pkl", "mal/deep/b.pkl"}
    OF_BOTH = OF_MAL | {"other/mal/c.pkl"}

    def left_out(self, glob, word="tree", cwd=""):
        code, out, err = self.run_assay("scan", word, "--exclude", glob, "--ndjson", cwd=cwd)
        top = os.path.join(self.folder, "tree")
        paths = {os.path.relpath(os.path.join(self.folder, cwd, json.loads(line)["path"]), top) for line in out.splitlines()}
        return self.ALL - paths, err

    def test_exclude_takes_what_people_type(self):
        rows = {"mal": self.OF_BOTH, "mal/": self.OF_BOTH, "./mal": self.OF_BOTH, "mal/**": self.OF_BOTH, "**/mal/**": self.OF_BOTH,
                "**/mal": self.OF_BOTH, "m?l/": self.OF_BOTH, "tree/mal": self.OF_MAL, "tree/mal/": self.OF_MAL, "./tree/mal/": self.OF_MAL,
                "mal/*": self.OF_MAL, "tree/mal/**": self.OF_MAL, "tree/*/mal": {"other/mal/c.pkl"}, "other/mal": {"other/mal/c.pkl"},
                "tree/**/mal": self.OF_BOTH, "**/deep/b.pkl": {"mal/deep/b.pkl"}, "**/a.pkl": {"mal/a.pkl"},
                "../" + os.path.basename(self.folder) + "/tree/mal": self.OF_MAL, os.path.join(self.folder, "tree", "mal"): self.OF_MAL}
        for glob, expected in rows.items():
            with self.subTest(glob):
                left_out, err = self.left_out(glob)
                self.assertEqual(left_out, expected)
                self.assertEqual(err, "")
        for glob, word, cwd in ("mal", "../tree", "tree"), ("./mal/", ".", "tree"), ("../tree/mal", ".", "tree"), ("mal", "..", "tree/mal"):
            with self.subTest(glob, word=word, cwd=cwd):
                left_out, err = self.left_out(glob, word, cwd)
                self.assertEqual(self.OF_MAL - left_out, set())
                self.assertEqual(err, "")

    def test_exclude_that_matches_nothing_is_told(self):
        for glob in "nothing", "mal.pkl/", "tree", "tree/a.pkl", "/mal", "/":
            with self.subTest(glob):
                left_out, err = self.left_out(glob)
                self.assertEqual(left_out, set())
                self.assertIn(f"--exclude '{glob}' has no effect", err)
        code, out, err = self.run_assay("scan", "tree", "--exclude", "*.pkl")
        self.assertEqual(code, 2)
        self.assertIn("but what --exclude leaves out", err)
        # What two patterns are like, both left out.
        code, out, err = self.run_assay("scan", "tree", "--exclude", "mal", "--exclude", "m*", "--json")
        self.assertEqual(err, "")
        code, out, err = self.run_assay("scan", "tree", "--exclude", "nothing", "--json")
        self.assertEqual([f["message"] for f in json.loads(out)["findings"]],
                         ["--exclude 'nothing' has no effect: nothing below the folders that were named is like it"])
        self.assertEqual(code, 0)
        self.assertEqual(self.run_assay("scan", "tree", "--exclude", "nothing", "--quiet")[2], "")

    def test_allow_without_effect_is_told(self):
        self.write("own.pkl", b"\x80\x02cmy.company\nConfig\n)R.")
        self.write("evil.pkl", EVIL)

        def told(file, *names):
            flags = [word for name in names for word in ("--allow", name)]
            code, _, err = self.run_assay("scan", file, *flags)
            return code, err

        self.assertEqual(told("own.pkl", "my.company.Config"), (0, ""))
        code, err = told("own.pkl", "my.company.Confg")
        self.assertEqual(code, 1)
        self.assertIn("--allow 'my.company.Confg' has no effect: no such name is imported; did you mean 'my.company.Config'?", err)
        code, err = told("evil.pkl", "posix.system")
        self.assertEqual(code, 1)
        self.assertIn("--allow 'posix.system' has no effect: the name is known as dangerous, it runs commands", err)
        self.assertIn("known as dangerous", told("own.pkl", "os.system")[1])
        self.assertIn("known to be harmless", told("own.pkl", "collections.OrderedDict")[1])
        # Of several files one is enough.
        self.assertEqual(self.run_assay("scan", "own.pkl", "tree", "--allow", "my.company.Config")[2], "")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + ["-v"] if len(sys.argv) == 1 else sys.argv)
