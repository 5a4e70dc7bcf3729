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


def safetensors(tensors):
    """{name: (dtype, shape, bytes)}"""
    header, at, body = {}, 0, b""
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(content)]}
        at += len(content)
        body += content
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + body


class Folders(Broken):
    """Sets of files of which some are missing, or that hold more than the model."""

    def test_the_last_entry_of_a_name_counts_as_in_python(self):
        part = {"a": ("U8", [2], b"ab"), "b": ("U8", [2], b"cd")}
        self.write("set/model-00001-of-00002.safetensors", safetensors(part))
        self.write("set/model-00002-of-00002.safetensors", safetensors({"b": ("U8", [2], b"xy"), "c": ("U8", [1], b"z")}))
        first, second = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
        text = '{"metadata": {}, "weight_map": {"a": "%s", "b": "%s", "c": "%s", "b": "%s"}}' % (first, first, second, second)
        self.write("set/model.safetensors.index.json", text.encode())
        self.assertEqual(json.loads(text)["weight_map"]["b"], second)
        tensors = {t["name"]: t["file"] for t in self.json("tensors", "set")["tensors"]}
        self.assertEqual(tensors, json.loads(text)["weight_map"])
        found = [f for f in self.json("info", "set")["findings"] if f["code"] == "duplicate-name"]
        self.assertEqual(len(found), 1)
        self.assertIn("the last counts: 'b'", found[0]["message"])
        values = {t["name"]: t["values"] for t in self.json("dump", "set")["tensors"]}
        self.assertEqual(values["b"], [ord("x"), ord("y")])

    def test_an_optimizer_is_not_the_model(self):
        for name in "optimizer.safetensors", "optimizer.pt":
            with self.subTest(name=name):
                folder = name.replace(".", "_")
                self.write(f"{folder}/{name}", safetensors({"state.0": ("U8", [1], b"x")}) if name.endswith("s") else data("special/optimizers.pt"))
                self.write(f"{folder}/pytorch_model.bin", data("torch/views.pt"))
                self.assertEqual([f["name"] for f in self.json("info", folder)["files"]], ["pytorch_model.bin"])
                os.remove(os.path.join(self.folder.name, folder, "pytorch_model.bin"))
                self.assertEqual([f["name"] for f in self.json("info", folder)["files"]], [name])

    def test_parts_without_their_metadata(self):
        for rank in range(2):
            self.write(f"save/__{rank}_0.distcp", data(f"dist/sharded/__{rank}_0.distcp"))
        error = self.json("info", "save")["error"]
        self.assertEqual(error["code"], "missing-metadata")
        self.assertIn(".metadata", error["hint"])

    def test_latest_points_nowhere(self):
        step = os.path.join(DATA, "deepspeed", "stage2", "global_step4")
        for name in os.listdir(step):
            self.write(f"run/global_step4/{name}", data(f"deepspeed/stage2/global_step4/{name}"))
        self.write("run/latest", b"global_step9")
        report = self.json("info", "run")
        self.assertEqual(report["format"], "deepspeed-zero")
        self.assertEqual(report["metadata"]["tag"], "global_step4")
        stale = [f for f in report["findings"] if f["code"] == "stale-index"]
        self.assertIn("'latest' names 'global_step9'", stale[0]["message"])
        self.write("alone/latest", b"global_step9\n")
        self.write("alone/zero_to_fp32.py", b"# collects the states\n")
        self.assertIn("'global_step9'", self.json("info", "alone")["error"]["hint"])

    def test_two_archives_in_one_file(self):
        self.write("two.pt", data("torch/views.pt") + data("torch/buffer.pt"))
        self.assertIn("ambiguous-archive", [f["code"] for f in self.json("scan", "two.pt")["findings"]])
        self.assertIn("archives stand one behind the other", self.run_assay("scan", "two.pt")[1])
        self.write("part.distcp", data("dist/train/__0_0.distcp"))
        self.assertEqual(self.json("scan", "part.distcp")["findings"], [])


class CheckSums(Broken):
    def test_a_wrong_one_of_the_pickle_is_told_once(self):
        content = bytearray(data("torch/views.pt"))
        at = content.find(b"as_bytes")
        content[at] ^= 1  # in the pickle's name of a tensor
        self.write("m.pt", content)
        found = [f for f in self.json("verify", "m.pt")["findings"] if f["code"] == "crc-mismatch"]
        self.assertEqual(len(found), 1)

    def test_of_what_is_not_unpacked_to_its_end_nothing_is_said(self):
        # A pickle that goes on and on: it is unpacked as far as the limit, and its check sum is right.
        import zipfile
        path = os.path.join(self.folder.name, "bomb.zip")
        pickle = b"\x80\x02]" + b"X\x00\x00\x10\x00" + b"\0" * (1 << 20) + (b"X\x00\x00\x10\x00" + b"\0" * (1 << 20) + b"0") * 200 + b"e."
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("archive/data.pkl", pickle)
        report = self.json("scan", "bomb.zip")
        self.assertEqual(report["status"], "incomplete")
        self.assertNotIn("crc-mismatch", [f["code"] for f in report["findings"]])


class Usage(Broken):
    """What makes no sense is said, not taken."""

    def setUp(self):
        super().setUp()
        self.write("m.safetensors", data("numbers/plain.safetensors"))

    def refused(self, *arguments):
        code, text = self.run_assay(*arguments)
        self.assertEqual(code, 2, text)
        self.assertIn("[usage]", text)
        return text

    def test_numbers_that_are_too_large_or_small(self):
        self.assertIn("--from 4181 is behind the last element of 'weights.bf16', which has 4181", self.refused("head", "m.safetensors", "weights.bf16", "--from", "4181"))
        self.assertEqual(self.run_assay("head", "m.safetensors", "weights.bf16", "--from", "4180")[0], 0)
        self.assertIn("--bins takes a number from 1", self.refused("hist", "m.safetensors", "weights.bf16", "--bins", "0"))
        self.assertIn("--height takes a number from 1 to 100, not 101", self.refused("hist", "m.safetensors", "weights.bf16", "--height", "101"))
        self.run_assay("synth", "moe.safetensors")
        self.assertIn("--plan 9 keeps more experts than a layer has, 8", self.refused("moe", "moe.safetensors", "--plan", "9"))
        self.assertEqual(self.run_assay("moe", "moe.safetensors", "--plan", "8")[0], 0)

    def test_a_slip_in_a_command(self):
        for word, meant in (("inof", "info"), ("tenosrs", "tensors"), ("sacn", "scan")):
            self.assertIn(f"did you mean assay {meant}?", self.run_assay(word)[1])
            self.assertIn(f"did you mean assay {meant}?", self.run_assay(word, "m.safetensors")[1])

    def test_a_tensor_that_is_cut_off(self):
        whole = data("numbers/plain.safetensors")
        self.write("cut.safetensors", whole[:100000])
        for command in ["head"], ["hist"], ["heatmap"]:
            error = self.json(command[0], "cut.safetensors", "weights.f16")["error"]
            self.assertEqual(error["code"], "truncated")
            self.assertIn("the file has 100,000 bytes", error["message"])

    def test_one_name_for_threads(self):
        for command in "stats", "doctor", "verify", "scan":
            for flag in ["--threads", "1"], ["-j", "1"], ["--jobs", "1"], ["--jobs=1"]:
                code, text = self.run_assay(command, "m.safetensors", *flag)
                self.assertIn(code, (0, 1), text)
        self.assertNotIn("--jobs", self.run_assay("verify", "--help")[1])

    def test_no_line_is_wider_than_asked(self):
        self.write("views.pt", data("torch/views.pt"))
        self.write("cut.pt", data("numbers/views.pt")[:40000])
        name = "model.layers.0.block_sparse_moe.experts.0.w1.weight"
        self.run_assay("synth", "moe.safetensors")
        screens = [[c, f] for c in ("info", "tensors", "tree", "stats", "map", "doctor", "verify", "scan", "moe") for f in ("moe.safetensors", "views.pt", "cut.pt")]
        screens += [["head", "moe.safetensors", name], ["hist", "moe.safetensors", name], ["heatmap", "moe.safetensors", name],
                    ["show", "moe.safetensors", name, "[0:4, 0:8]"], ["diff", "m.safetensors", "moe.safetensors"], ["formats"], ["help"],
                    ["tensors", "--help"], ["scan", "."]]
        for width in 60, 80, 200:
            for screen in screens:
                text = self.run_assay(*screen, "--width", str(width))[1]
                wide = [line for line in text.splitlines() if len(line) > width]
                self.assertEqual(wide, [], f"{screen} at {width}")
        # Data is data: a line is a record.
        self.assertGreater(len(self.run_assay("dump", "moe.safetensors", name, "--width", "60")[1]), 1000)
        self.assertEqual(self.run_assay("dump", "moe.safetensors", name, "--width", "60")[1].count("\n"), 1)


class Ties(Broken):
    def test_the_partner_is_named(self):
        self.write("m.pt", data("torch/deflated.pt"))
        self.assertIn("tied        tied is base", self.run_assay("info", "m.pt")[1])
        self.assertIn("tied to base", self.run_assay("tensors", "m.pt")[1])
        self.assertIn({"name": "tied", "to": "base"}, self.json("info", "m.pt")["ties"])


class Scans(Broken):
    def test_exclude(self):
        self.write("models/good.pt", data("torch/views.pt"))
        self.write("models/old/unknown.pt", data("torch/wrapper.pt"))
        self.write("models/notes.log", b"\x01\x02\x03\x04 not text")
        self.assertEqual(self.run_assay("scan", "models")[0], 1)
        for globs in ["old", "*.log"], ["old/*", "*.log"], ["*known.pt", "notes.log"]:
            flags = [flag for glob in globs for flag in ("--exclude", glob)]
            code, text = self.run_assay("scan", "models", *flags)
            self.assertEqual(code, 0, text)
            self.assertIn("left out by --exclude: 2", text)
            report = self.json("scan", "models", *flags)
            self.assertEqual([f["path"] for f in report["files"]], ["models/good.pt"])

    def test_sarif_has_what_viewers_ask_for(self):
        self.write("models/good.pt", data("torch/views.pt"))
        self.write("models/unknown.pt", data("torch/wrapper.pt"))
        self.write("models/broken.pt", data("torch/views.pt")[:1000])
        log = json.loads(self.run_assay("scan", "models", "--sarif")[1])
        self.assertEqual(log["version"], "2.1.0")
        self.assertIn("sarif-2.1.0", log["$schema"])
        self.assertEqual(len(log["runs"]), 1)
        driver = log["runs"][0]["tool"]["driver"]
        rules = {rule["id"]: rule for rule in driver["rules"]}
        self.assertEqual(len(rules), len(driver["rules"]))
        for rule in rules.values():
            for key in "shortDescription", "fullDescription", "help":
                self.assertTrue(rule[key]["text"].strip(), key)
            self.assertIn(rule["defaultConfiguration"]["level"], ("none", "note", "warning", "error"))
        results = log["runs"][0]["results"]
        self.assertTrue(results)
        for result in results:
            self.assertIn(result["ruleId"], rules)
            self.assertIn(result["level"], ("none", "note", "warning", "error"))
            self.assertTrue(result["message"]["text"])
            self.assertEqual(len(result["locations"]), 1)
            place = result["locations"][0]["physicalLocation"]
            self.assertTrue(os.path.exists(os.path.join(self.folder.name, place["artifactLocation"]["uri"])))
            self.assertGreaterEqual(place["region"]["startLine"], 1)
            if "byteOffset" in place["region"]:
                self.assertGreaterEqual(place["region"]["byteOffset"], 0)
                self.assertGreaterEqual(place["region"]["byteLength"], 0)


if __name__ == "__main__":
    unittest.main()
