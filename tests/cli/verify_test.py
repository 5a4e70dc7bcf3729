#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""verify against digests that Python computes, on files that Python writes and damages: verify_test.py ASSAY"""
import hashlib
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import zipfile

ASSAY = os.path.abspath(sys.argv[1])
TORCH = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "data", "torch", "dtypes.pt"))
CHAIN = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "data", "dist", "train"))


def safetensors(tensors):
    """{name: bytes} as U8 vectors"""
    header, at = {}, 0
    for name, data in tensors.items():
        header[name] = {"dtype": "U8", "shape": [len(data)], "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + b"".join(tensors.values())


class Verify(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, content):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "wb") as file:
            file.write(content)
        return self.path(name)

    def run_assay(self, *words):
        done = subprocess.run([ASSAY, "verify", *words, "--json"], capture_output=True, timeout=60)
        return done.returncode, json.loads(done.stdout)

    def verdict(self, document, name):
        return [check["verdict"] for check in document["checks"] if check["name"] == name]

    def test_digests(self):
        content = safetensors({"a": bytes(range(256)) * 9000})  # more than two blocks
        model = self.write("model.safetensors", content)
        digest = hashlib.sha256(content).hexdigest()
        other = digest.replace(digest[0], "0" if digest[0] != "0" else "1")
        size = len(content)
        pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n"
        lists = {"good": f"{digest}  model.safetensors\n", "bad": f"{other} *model.safetensors\n", "folder": f"{digest}  some/where/model.safetensors\n"}
        for name, text in lists.items():
            self.write(name, text.encode())
        self.write("pointer", (pointer % (digest, size)).encode())
        self.write("wrong_size", (pointer % (digest, size + 1)).encode())
        for words, code in [(["--sha256", digest], 0), (["--sha256", digest.upper()], 0), (["--sha256", other], 1),
                            (["--sums", self.path("good")], 0), (["--sums", self.path("folder")], 0), (["--sums", self.path("bad")], 1),
                            (["--lfs", self.path("pointer")], 0), (["--lfs", self.path("wrong_size")], 1)]:
            for jobs in ("1", "2", "5"):
                for more in ([], ["--no-mmap"], ["--values"]):
                    exit_code, document = self.run_assay(model, *words, "-j", jobs, *more)
                    self.assertEqual(exit_code, code, (words, document))
                    self.assertEqual(self.verdict(document, "sha256"), ["fail" if code else "pass"])

    def test_what_was_asked_and_cannot_be_answered_is_not_fine(self):
        model = self.write("model.safetensors", safetensors({"a": b"1"}))
        self.write("sums", b"0" * 64 + b"  other\n")
        self.write("empty", b"")
        self.assertEqual(self.run_assay(model, "--sums", self.path("sums"))[0], 2)
        self.assertEqual(self.run_assay(model, "--sums", self.path("empty"))[0], 2)
        self.assertEqual(self.run_assay(model, "--sums", self.path("absent"))[0], 2)
        self.assertEqual(self.run_assay(model, "--lfs", self.path("empty"))[0], 2)
        self.assertEqual(self.run_assay(model, "--sha256", "12")[0], 2)

    def test_the_names_of_a_cache(self):
        content = safetensors({"a": b"12345"})
        digest = hashlib.sha256(content).hexdigest()
        self.write("blobs/" + digest, content)
        os.makedirs(self.path("snapshots/1"))
        os.symlink("../../blobs/" + digest, self.path("snapshots/1/model.safetensors"))
        for path in ("snapshots/1/model.safetensors", "snapshots/1", "blobs/" + digest):
            code, document = self.run_assay(self.path(path))
            self.assertEqual((code, self.verdict(document, "sha256")), (0, ["pass"]), path)
        self.write("blobs/" + digest, content[:-1] + b"6")
        for path in ("snapshots/1/model.safetensors", "snapshots/1", "blobs/" + digest):
            code, document = self.run_assay(self.path(path))
            self.assertEqual((code, self.verdict(document, "sha256")), (1, ["fail"]), path)

    def test_shards_and_their_sums(self):
        shards = {"model-00001-of-00002.safetensors": safetensors({"model.layers.0.a": b"1" * 3_000_000}),
                  "model-00002-of-00002.safetensors": safetensors({"model.layers.1.a": b"2" * 2_500_000})}
        for name, content in shards.items():
            self.write(name, content)
        self.write("model.safetensors.index.json", json.dumps({"metadata": {"total_size": 5_500_000}, "weight_map": {
            "model.layers.0.a": "model-00001-of-00002.safetensors", "model.layers.1.a": "model-00002-of-00002.safetensors"}}).encode())
        self.write("config.json", json.dumps({"num_hidden_layers": 2}).encode())
        self.write("SHA256SUMS", "".join(f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in shards.items()).encode())
        documents = [self.run_assay(self.folder.name, "--sums", self.path("SHA256SUMS"), "-j", jobs) for jobs in ("1", "2", "7")]
        for code, document in documents:
            self.assertEqual(code, 0, document)
            self.assertEqual(self.verdict(document, "sha256"), ["pass", "pass"])
            self.assertEqual(self.verdict(document, "shards") + self.verdict(document, "config"), ["pass", "pass"])
            self.assertEqual(document, documents[0][1])
        self.write("config.json", json.dumps({"num_hidden_layers": 3}).encode())
        code, document = self.run_assay(self.folder.name)
        self.assertEqual((code, self.verdict(document, "config")), (1, ["fail"]))
        self.assertEqual(self.run_assay(self.folder.name, "--sha256", "0" * 64)[0], 2)
        # A digest is that of the file that was named, though the whole set is opened.
        os.remove(self.path("config.json"))
        for name, content in shards.items():
            digest = hashlib.sha256(content).hexdigest()
            code, document = self.run_assay(self.path(name), "--sha256", digest)
            self.assertEqual((code, self.verdict(document, "sha256")), (0, ["pass"]), document)
            self.assertEqual(self.run_assay(self.path(name), "--sha256", digest[::-1])[0], 1)

    def test_every_flipped_byte_of_a_torch_file_is_noticed(self):
        with open(TORCH, "rb") as file:
            good = file.read()
        with zipfile.ZipFile(TORCH) as archive:
            members = [(m.header_offset + 30 + len(m.filename) + struct.unpack_from("<H", good, m.header_offset + 28)[0], m.file_size)
                       for m in archive.infolist()]
        for offset, size in members:
            for at in {offset, offset + size // 2, offset + size - 1} if size else ():
                bad = bytearray(good)
                bad[at] ^= 0x10
                code, document = self.run_assay(self.write("bad.pt", bytes(bad)))
                self.assertIn(code, (1, 2), at)
                codes = [finding["code"] for finding in document["findings"]]
                self.assertTrue("crc-mismatch" in codes or code == 2, (at, codes))

    def test_archives_one_behind_the_other(self):
        with open(os.path.join(CHAIN, "__0_0.distcp"), "rb") as file:
            good = file.read()
        shutil.copytree(CHAIN, self.path("train"))
        self.assertEqual(self.run_assay(self.path("train"))[0], 0)
        at, flipped = good.find(b"PK\3\4"), 0
        while at >= 0:
            data = at + 30 + sum(struct.unpack_from("<HH", good, at + 26))
            if flipped % 7 == 0 and good[data:data + 4] != b"PK\7\x08":
                with open(self.path("train/__0_0.distcp"), "wb") as file:
                    file.write(good[:data] + bytes([good[data] ^ 4]) + good[data + 1:])
                code, document = self.run_assay(self.path("train"))
                self.assertIn(code, (1, 2), data)
            flipped += 1
            at = good.find(b"PK\3\4", data)
        self.assertGreater(flipped, 100)

    def test_what_is_no_checkpoint_still_has_a_digest(self):
        path = self.write("tokenizer.json", b"{\"a\": 1}")
        code, document = self.run_assay(path, "--sha256", hashlib.sha256(b"{\"a\": 1}").hexdigest())
        self.assertEqual((code, self.verdict(document, "sha256"), self.verdict(document, "structure")), (2, ["pass"], ["fail"]))
        self.assertIn("error", document)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
