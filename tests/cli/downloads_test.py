#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What downloads leave that went wrong: holes, second beginnings, what servers say in place of the file.

usage: downloads_test.py PROGRAM"""
import array
import json
import random
import struct
import unittest

from broken_test import Broken, data, safetensors


def trained(count, seed=1):
    numbers = random.Random(seed)
    return array.array("f", (numbers.gauss(0, 0.02) for _ in range(count))).tobytes()


def laid_out(rows):
    """Of (name, shape, bytes), in the order that they have in the file."""
    header, at = {}, 0
    for name, shape, content in rows:
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + len(content)]}
        at += len(content)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(content for _, _, content in rows)


def layers(content_of):
    """Four layers of three matrices and a norm each. `content_of(name, count)` may give other values than trained ones."""
    rows = []
    for layer in range(4):
        for number, (part, shape) in enumerate([("down.weight", [48, 96]), ("gate.weight", [96, 48]), ("norm.weight", [48]),
                                                ("up.weight", [96, 48])]):
            name, count = f"model.layers.{layer}.{part}", shape[0] * (shape[1] if len(shape) > 1 else 1)
            rows.append((name, shape, content_of(name, count) or trained(count, 10 * layer + number)))
    return rows


class Holes(Broken):
    """A download that skipped a part, whose bytes stayed zeros."""

    def doctor(self, content):
        self.write("m.safetensors", content)
        return self.json("doctor", "m.safetensors")["findings"]

    def test_of_safetensors_is_one_finding(self):
        whole = laid_out(layers(lambda name, count: None))
        self.assertEqual(self.doctor(whole), [])
        data = len(whole) - 4 * 4 * (3 * 96 * 48 + 48)
        first = data + 4 * (2 * 96 * 48 - 1000) + 1
        end = data + 4 * (3 * 96 * 48 + 48 + 2000) + 2
        found = self.doctor(whole[:first] + bytes(end - first) + whole[end:])
        self.assertEqual([f["code"] for f in found], ["zero-hole"])
        # The bytes beside the hole may be zeros themselves.
        self.assertLessEqual(found[0]["offset"], first)
        self.assertLess(first - found[0]["offset"], 4)
        self.assertGreaterEqual(found[0]["offset"] + found[0]["length"], end)
        self.assertEqual(found[0]["names"], ["model.layers.0.norm.weight", "model.layers.0.up.weight"])
        self.assertEqual(found[0]["partly"], ["model.layers.0.gate.weight", "model.layers.1.down.weight"])
        text = self.run_assay("doctor", "m.safetensors")[1]
        self.assertNotIn("removed", text)
        self.assertIn("curl -r", text)

    def test_what_is_zero_by_design_is_none(self):
        def zero(*ends):
            return lambda name, count: bytes(4 * count) if name.endswith(ends) else None

        def dead_rows(name, count):  # whole rows, before and behind a matrix of zeros
            if name.endswith("0.gate.weight"):
                return bytes(4 * count)
            if name.endswith("0.down.weight"):
                return trained(count - 5 * 96) + bytes(4 * 5 * 96)
            return bytes(4 * 48) if name.endswith("0.norm.weight") else None

        def dead_columns(name, count):
            if name.endswith("1.norm.weight"):
                return bytes(4 * count)
            return b"".join(bytes(80) + trained(28, row) for row in range(96)) if name.endswith("1.up.weight") else None

        for rows in (layers(zero("down.weight")), layers(zero("0.down.weight", "0.gate.weight", "0.norm.weight", "0.up.weight")),
                     layers(dead_rows), layers(dead_columns)):
            codes = [f["code"] for f in self.doctor(laid_out(rows))]
            self.assertTrue(codes)
            self.assertNotIn("zero-hole", codes)

    def test_a_fresh_adapter_or_optimizer_has_none(self):
        rows = []
        for layer in range(3):
            rows += [(f"layers.{layer}.q.lora_A.weight", [8, 64], trained(8 * 64, layer)),
                     (f"layers.{layer}.q.lora_B.weight", [64, 8], bytes(4 * 64 * 8)),
                     (f"layers.{layer}.q.bias", [64], bytes(4 * 64)),
                     (f"optimizer.{layer}.exp_avg", [64, 8], bytes(4 * 64 * 8)),
                     (f"optimizer.{layer}.exp_avg_sq", [64, 8], bytes(4 * 64 * 8))]
        self.assertNotIn("zero-hole", [f["code"] for f in self.doctor(laid_out(rows))])

    def test_what_an_unwritten_end_covers_is_not_told_again(self):
        whole = laid_out(layers(lambda name, count: None))
        cut = len(whole) // 2
        self.assertEqual([f["code"] for f in self.doctor(whole[:cut] + bytes(len(whole) - cut))], ["zero-tail"])

    def test_of_a_zip_is_told_once(self):
        whole = data("numbers/views.pt")
        second, fourth = (whole.index(b"views/data/%d" % i) for i in (1, 3))
        first, end = second - 200, fourth + 500
        self.write("m.pt", whole[:first] + bytes(end - first) + whole[end:])
        code, text = self.run_assay("info", "m.pt")
        self.assertEqual(code, 2)
        self.assertEqual(len(self.damage_lines(text)), 1, text)
        found = self.json("info", "m.pt")["findings"]
        self.assertEqual([f["code"] for f in found], ["zero-hole"])
        lost = [t["name"] for t in self.json("tensors", "m.pt")["tensors"] if not t["readable"]]
        self.assertGreater(len(lost), 1)
        self.assertEqual(found[0]["names"], lost)
        self.assertLessEqual(found[0]["offset"], first)
        self.assertGreaterEqual(found[0]["offset"] + found[0]["length"], end)
        code, text = self.run_assay("verify", "m.pt")
        self.assertEqual(code, 1)
        self.assertEqual(text.count("zeros stand"), 1, text)
        self.assertIn("the headers of 3 records", text)
        self.assertIn("3 of 10 local headers are lost in the hole", text)
        self.assertIn("3 members are lost in the hole", text)


class Downloads(Broken):
    """What servers and programs put in front of a file, behind it, or in its place."""

    def test_a_zip_that_begins_again(self):
        whole = data("numbers/views.pt")
        cut = len(whole) // 3
        self.write("m.pt", whole[:cut] + whole)
        code, text = self.run_assay("info", "m.pt")
        self.assertEqual(code, 0, text)
        self.assertIn(f"the file begins again at byte {cut:,}", text)
        self.assertIn(f"tail -c +{cut + 1} ", text)
        self.assertIn("begins again", self.run_assay("verify", "m.pt")[1])
        self.assertIn("would refuse it", self.run_assay("scan", "m.pt")[1])

    def test_a_web_page_behind_a_cut(self):
        for name, source in ("m.safetensors", "safetensors/layers.safetensors"), ("m.pt", "numbers/views.pt"):
            whole = data(source)
            kept = whole[:len(whole) // 2]
            for page in (b"<html><head><title>504</title></head></html>\r\n", b"\n<!DOCTYPE html>\n<HTML><body>no</body></HTML>"):
                with self.subTest(name=name, page=page):
                    self.write(name, kept + page)
                    size = len(kept) + (page[:1] == b"\n")  # a line feed may be the file's own
                    for command in "info", "doctor", "verify":
                        self.assertIn(f"truncate -s {size} {name} && curl -L -C - -o {name} URL", self.run_assay(command, name)[1])
                    first = self.json("info", name)["findings"][0]
                    self.assertEqual((first["code"], first["page"]), ("truncated", len(page.lstrip(b"\n"))))

    def test_one_advice_for_a_cut(self):
        self.write("m.safetensors", data("safetensors/layers.safetensors")[:10000])
        for command in "info", "doctor", "verify":
            self.assertIn("curl -L -C - -o m.safetensors URL", self.run_assay(command, "m.safetensors")[1])

    def test_zeros_of_a_tensor_at_a_cut_are_its_own(self):
        whole = data("numbers/views.pt")
        start = whole.index(b"views/data/0") + 100
        self.write("m.pt", whole[:start] + bytes(8000))
        text = self.run_assay("info", "m.pt")[1]
        self.assertNotIn("never written", text)
        self.assertIn("curl", text)

    def test_what_stands_in_front_is_named(self):
        whole = data("safetensors/layers.safetensors")
        header = b"HTTP/2 302\r\nlocation: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
        for front, word in (b"\xef\xbb\xbf", "byte order mark"), (header, "curl -i"):
            self.write("m.safetensors", front + whole)
            code, text = self.run_assay("info", "m.safetensors")
            self.assertEqual(code, 2)
            self.assertIn(word, text)
            self.assertIn(f"tail -c +{len(front) + 1} ", text)

    def test_a_xet_pointer(self):
        self.write("m.safetensors", b'# xet version 0\nfilesize = 12345\nhash = "ab"\n')
        code, text = self.run_assay("info", "m.safetensors")
        self.assertEqual(code, 2)
        self.assertIn("the real file is 12,345 bytes", text)

    def test_zeros_in_the_header(self):
        whole = data("safetensors/layers.safetensors")
        for begin, end in (0, 40), (200, 260):
            self.write("m.safetensors", whole[:begin] + bytes(end - begin) + whole[end:])
            code, text = self.run_assay("info", "m.safetensors")
            self.assertEqual(code, 2)
            self.assertIn(f"zeros stand from byte {begin} to {end}, where the header should be", text)

    def test_standard_input_is_refused_with_its_reason(self):
        code, text = self.run_assay("info", "-")
        self.assertEqual(code, 2)
        self.assertIn("sought by their place", text)
        self.assertNotIn("does not exist", text)

    def test_a_shard_that_is_a_copy_of_another(self):
        parts = [{f"l.{i}.{j}": ("U8", [2], bytes([i, j])) for j in range(12)} for i in range(2)]
        names = [f"model-0000{i + 1}-of-00002.safetensors" for i in range(2)]
        for name in names:
            self.write("set/" + name, safetensors(parts[0]))
        index = {"weight_map": {tensor: name for part, name in zip(parts, names) for tensor in part}}
        self.write("set/model.safetensors.index.json", json.dumps(index).encode())
        code, text = self.run_assay("verify", "set")
        self.assertEqual(code, 1)
        lines = text[text.index("shards"):].splitlines()
        self.assertIn(f"12 tensors that the index maps to '{names[1]}' are in no shard", lines[0])
        self.assertIn(f"'{names[1]}' holds 12 tensors of '{names[0]}' and nothing else", lines[1])

    def test_a_checkup_says_that_it_compares_no_check_sums(self):
        self.write("m.pt", data("numbers/views.pt"))
        self.assertIn("assay verify", self.run_assay("doctor", "m.pt")[1])


if __name__ == "__main__":
    unittest.main()
