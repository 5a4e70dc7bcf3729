#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files that broke on their way: cut, reserved and not filled, taken for text. What the program says of each, and what it advises.

usage: broken_test.py PROGRAM"""
import json
import os
import struct
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))
DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data")


def data(name):
    with open(os.path.join(DATA, name), "rb") as f:
        return f.read()


class Broken(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write(self, name, content):
        path = os.path.join(self.folder.name, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(content)

    def run_assay(self, *arguments):
        done = subprocess.run([PROGRAM, *arguments], cwd=self.folder.name, capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout + done.stderr

    def json(self, *arguments):
        done = subprocess.run([PROGRAM, *arguments, "--json"], cwd=self.folder.name, capture_output=True, text=True, timeout=60)
        return json.loads(done.stdout)

    def damage_lines(self, text):
        return [line for line in text.splitlines() if " damage: " in line]


class Cut(Broken):
    def test_a_zip_says_once_what_is_lost_and_how_to_go_on(self):
        whole = data("numbers/views.pt")
        self.write("views.pt", whole[:len(whole) // 2])
        code, text = self.run_assay("info", "views.pt")
        self.assertEqual(code, 2)
        self.assertEqual(len(self.damage_lines(text)), 1, text)
        self.assertIn("missing     at least ", text)
        self.assertIn("curl -L -C - -o views.pt URL · assay verify views.pt · assay tensors views.pt", text)
        self.assertNotIn("assay stats", text)
        # JSON still has a finding for every tensor that is lost.
        lost = [t["name"] for t in self.json("tensors", "views.pt")["tensors"] if not t["readable"]]
        told = {f["tensor"] for f in self.json("info", "views.pt")["findings"] if "tensor" in f}
        self.assertTrue(lost)
        self.assertEqual(told, set(lost))
        first = self.json("info", "views.pt")["findings"][0]
        self.assertEqual((first["code"], first["offset"]), ("truncated", len(whole) // 2))
        self.assertEqual(first["cut"], lost)
        self.assertLess(first["missing"], len(whole) - len(whole) // 2)

    def test_safetensors_count_what_is_missing(self):
        whole = data("safetensors/layers.safetensors")
        self.write("m.safetensors", whole[:10000])
        _, text = self.run_assay("info", "m.safetensors")
        self.assertIn(f"missing     {len(whole) - 10000:,} of {len(whole):,} bytes, from byte 10,000 on", text)

    def test_a_shard_is_named_with_what_it_lost(self):
        whole = data("safetensors/values.safetensors")
        self.write("set/model-00001-of-00002.safetensors", data("safetensors/layers.safetensors"))
        self.write("set/model-00002-of-00002.safetensors", whole[:-8])
        _, text = self.run_assay("info", "set")
        self.assertIn("curl -L -C - -o set/model-00002-of-00002.safetensors URL", text)
        lost = [t["name"] for t in self.json("tensors", "set")["tensors"] if not t["readable"]]
        self.assertTrue(lost)
        for name in lost:
            self.assertIn(f"'{name}'", self.damage_lines(text)[0])


class Zeros(Broken):
    """A download that reserved its space, and did not end."""

    def fill(self, name, source, part):
        whole = data(source)
        self.write(name, whole[:int(len(whole) * part)].ljust(len(whole), b"\0"))

    def test_safetensors(self):
        self.fill("m.safetensors", "numbers/plain.safetensors", 0.5)
        code, text = self.run_assay("verify", "m.safetensors")
        self.assertEqual(code, 1)
        self.assertIn("on the file holds zeros only", text)
        finding = [f for f in self.json("doctor", "m.safetensors")["findings"] if f["code"] == "zero-tail"]
        self.assertEqual(len(finding), 1)
        self.assertEqual(self.run_assay("verify", os.path.join(DATA, "numbers/plain.safetensors"))[0], 0)

    def test_torch(self):
        for name, source in ("new.pt", "torch/many.pt"), ("old.pt", "special/optimizers_legacy.pt"):
            with self.subTest(source=source):
                self.fill(name, source, 0.5)
                code, text = self.run_assay("info", name)
                self.assertEqual(code, 2)
                self.assertIn("the end was never written; get the file again from the start", text)
                self.assertNotIn("curl", text)


class TakenForText(Broken):
    """Carriage returns before line feeds, as git and FTP put them."""

    def test_every_format_says_so(self):
        for name in "torch/views.pt", "torch/train.pt", "numbers/plain.safetensors", "old/legacy2.pt":
            with self.subTest(name=name):
                content = data(name)
                self.write("broken", content.replace(b"\n", b"\r\n"))
                self.write("whole", content)
                for command in "info", "verify", "tensors", "doctor":
                    code, text = self.run_assay(command, "broken")
                    self.assertEqual(code, 2)
                    self.assertIn("the file was taken for text", text)
                    self.assertIn("binary mode", text)
                    self.assertNotIn("no zip", text)
                codes = [f["code"] for f in self.json("scan", "broken")["findings"]]
                self.assertIn("text-converted", codes)
                self.assertNotIn("text-converted", [f["code"] for f in self.json("scan", "whole")["findings"]])
                self.assertNotIn("text-converted", [f["code"] for f in self.json("info", "whole")["findings"]])


class Protocol0(Broken):
    """torch writes its storages' ids as texts there."""

    def test_scan_takes_them_for_storages(self):
        for name in "torch/protocol0.pt", "old/legacy0.pt":
            with self.subTest(name=name):
                self.write("m.pt", data(name))
                code, text = self.run_assay("scan", "m.pt")
                self.assertEqual(code, 0, text)
                report = self.json("scan", "m.pt")
                self.assertEqual((report["verdict"], report["status"]), ("clean", "complete"))
                self.assertFalse(report["weights_only"]["accepts"])


if __name__ == "__main__":
    unittest.main()
