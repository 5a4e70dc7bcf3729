#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `assay diff` says of changes that have a name: a factor, zeros, a column, rounding, an exchange. Needs nothing but Python.

    diff_notes_test.py ASSAY
"""
import json
import random
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ASSAY = str(Path(sys.argv.pop(1)).resolve())
ROWS, COLUMNS = 64, 48


def numbers(seed, n=ROWS * COLUMNS):
    source = random.Random(seed)
    return [struct.unpack("f", struct.pack("f", source.gauss(0, 0.02)))[0] for _ in range(n)]


def bf16(value):
    """Rounded to nearest even, as its code."""
    code = struct.unpack("I", struct.pack("f", value))[0]
    return (code + 0x7FFF + (code >> 16 & 1)) >> 16


def pack(dtype, values):
    return struct.pack(f"<{len(values)}{dict(F32='f', BF16='H', I8='b')[dtype]}", *values)


class Notes(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.a = {f"model.layers.{layer}.{part}.weight": numbers(10 * layer + n) for layer in range(4) for n, part in enumerate(("q", "k", "v"))}
        # Trained on a little: every number is another.
        self.b = {name: [x + 0.01 * d for x, d in zip(values, numbers(1000 + i))] for i, (name, values) in enumerate(self.a.items())}

    def write(self, name, tensors):
        header, data = {}, b""
        for key, value in tensors.items():
            dtype, shape, values = value if isinstance(value, tuple) else ("F32", [ROWS, COLUMNS], value)
            raw = pack(dtype, values)
            header[key] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
            data += raw
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        path = Path(self.folder.name) / name
        path.write_bytes(struct.pack("<Q", len(text)) + text + data)
        return str(path)

    def diff(self, *flags, a=None, b=None):
        done = subprocess.run([ASSAY, "diff", self.write("a.safetensors", a or self.a), self.write("b.safetensors", b or self.b), "--top", "0", *flags],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 1, done.stderr)
        return done.stdout

    def row(self, text, name):
        rows = [line for line in text.splitlines() if line.startswith(name)]
        self.assertEqual(len(rows), 1, text)
        return rows[0]

    def test_what_a_change_is(self):
        name = "model.layers.{}.{}.weight".format
        self.b[name(0, "q")] = [50 * x for x in self.b[name(0, "q")]]
        self.b[name(1, "q")] = [0.0] * (ROWS * COLUMNS)
        self.b[name(2, "q")] = numbers(999)
        for i in range(ROWS):
            self.b[name(3, "q")][i * COLUMNS + 33] *= 1000
        self.b[name(0, "k")] = list(self.a[name(0, "k")])
        self.b[name(0, "k")][7] = float("nan")
        self.b[name(1, "k")][10 * COLUMNS : 13 * COLUMNS] = [0.0] * (3 * COLUMNS)
        text = self.diff()
        self.assertIn("B is 50 × A", self.row(text, name(0, "q")))
        self.assertIn("all zero in B", self.row(text, name(1, "q")))
        self.assertIn("nothing of A left", self.row(text, name(2, "q")))
        self.assertIn("mostly column 33", self.row(text, name(3, "q")))
        self.assertRegex(self.row(text, name(0, "k")), r" 0  +1  +0 .*NaN ×1, nothing else$")
        self.assertIn("3 rows zero in B", self.row(text, name(1, "k")))
        self.assertNotIn("LoRA", text)
        self.assertTrue(self.row(text, name(2, "k")).endswith("100 %"), "an ordinary change has no note")

    def test_one_low_rank_tensor_of_many_is_no_adapter(self):
        column, row = numbers(7, ROWS), numbers(8, COLUMNS)
        for name in [name for name in self.a if ".q." in name][:1]:
            self.b[name] = [x + 50 * column[i // COLUMNS] * row[i % COLUMNS] for i, x in enumerate(self.a[name])]
        self.assertNotIn("LoRA", self.diff())
        for name in self.a:
            self.b[name] = list(self.a[name])
            if ".q." in name:
                self.b[name] = [x + 50 * column[i // COLUMNS] * row[i % COLUMNS] for i, x in enumerate(self.a[name])]
        self.assertIn("low rank in 4 tensors, as a merged LoRA leaves it", self.diff())

    def test_rounding(self):
        b = {name: ("BF16", [ROWS, COLUMNS], [bf16(x) for x in values]) for name, values in self.a.items()}
        self.assertIn("B is A rounded to BF16, exactly, in 12 tensors", self.diff(b=b))
        self.assertIn("A is B rounded to BF16, exactly, in 12 tensors", self.diff(a=b, b=self.a))
        b["model.layers.0.q.weight"][2][5] += 1
        self.assertIn("exactly, in 11 tensors", self.diff(b=b))

    def test_codes_are_compared_with_the_scales_beside_them(self):
        b, told = dict(self.b), {}
        for i, name in enumerate(list(self.a)[:4]):
            x = self.a[name]
            # One scale, one for each row as a vector and as a column, and the ".scale" of others.
            shape = [[1], [ROWS], [ROWS, 1], []][i]
            each = ROWS * COLUMNS if len(shape) == 0 or shape == [1] else COLUMNS
            scales = [struct.unpack("f", struct.pack("f", max(map(abs, x[at : at + each])) / 127))[0] for at in range(0, len(x), each)]
            codes = [round(v / scales[n // each]) for n, v in enumerate(x)]
            b[name] = ("I8", [ROWS, COLUMNS], codes)
            b[name + ("_scale", "_scale_inv", "_scale")[i] if i < 3 else name.replace(".weight", ".scale")] = ("F32", shape, scales)
            rest = sum((v - c * scales[n // each]) ** 2 for n, (v, c) in enumerate(zip(x, codes)))
            told[name] = (rest / sum(v * v for v in x)) ** 0.5
        rows = {row["name_a"]: row for row in json.loads(self.diff("--json", b=b))["changed"]}
        for name, rel in told.items():
            self.assertTrue(rows[name]["with_scales"])
            self.assertAlmostEqual(rows[name]["rel_l2"] / rel, 1, places=4)
        text = self.diff(b=b)
        self.assertIn("4 tensors of one side are codes, compared as the numbers", text)
        self.assertIn("I8, with scales", self.row(text, list(told)[0]))

    def test_codes_whose_scales_are_not_understood_come_last(self):
        b = dict(self.b)
        for name in list(self.a)[:3]:
            most = max(map(abs, self.a[name]))
            b[name] = ("I8", [ROWS, COLUMNS], [round(127 * x / most) for x in self.a[name]])
            b[name + "_scale"] = ("F32", [2, 2], [most / 127] * 4)  # of blocks
        text = self.diff(b=b)
        self.assertIn("3 tensors of one side are codes whose scales stand beside them", text)
        self.assertEqual([("codes without their scales" in line) for line in text.splitlines() if line.startswith("model.")], [False] * 9 + [True] * 3)
        self.assertRegex(text, r"median 0\.0[01]\d*, most 0\.01\d*\n")
        rows = json.loads(self.diff("--json", b=b))["changed"]
        self.assertEqual([row.get("without_scales", False) for row in rows], [False] * 9 + [True] * 3)

    def test_exchanges(self):
        for part in ("q", "k", "v"):
            x, y = f"model.layers.1.{part}.weight", f"model.layers.3.{part}.weight"
            self.b[x], self.b[y] = self.b[y], self.b[x]
        self.b["model.layers.0.q.weight"] = list(self.b["model.layers.2.q.weight"])
        text = self.diff()
        self.assertIn("exchanged  layers 1 and 3  (6 tensors)", text)
        self.assertIn("exchanged with layers.3", self.row(text, "model.layers.1.k.weight"))
        self.assertIn("like layers.2 in A", self.row(text, "model.layers.0.q.weight"))
        rows = {row["name_a"]: row.get("like") for row in json.loads(self.diff("--json"))["changed"]}
        self.assertEqual(rows["model.layers.3.v.weight"], "model.layers.1.v.weight")
        self.assertIsNone(rows["model.layers.2.q.weight"])

    def test_weights_come_before_what_training_keeps(self):
        state = {f"optimizer.state.{i}.exp_avg": numbers(50 + i) for i in range(3)}
        a, b = {**state, **self.a}, {**{name: [30 * x for x in values] for name, values in state.items()}, **self.b}
        text = self.diff(a=a, b=b)
        names = [line.split()[0] for line in text.splitlines() if line.startswith(("model.", "optimizer."))]
        self.assertEqual([name.startswith("optimizer") for name in names], [False] * 12 + [True] * 3)
        self.assertRegex(text, r"most 0\.01")
        self.assertEqual(json.loads(self.diff("--json", a=a, b=b))["changed"][-1]["section"], "optimizer")

    def test_steps_of_floats_are_shown_where_they_say_something(self):
        self.assertNotIn("ULPS", self.diff("--width", "160"))
        self.assertIn("ULPS", self.diff("--width", "160", "--by", "ulps"))
        halves = [{name: ("BF16", [ROWS, COLUMNS], [bf16(x) for x in values]) for name, values in side.items()} for side in (self.a, self.b)]
        text = self.diff("--width", "160", a=halves[0], b=halves[1])
        self.assertIn("ULPS", text)
        self.assertNotRegex(text, r"\d [KMB] ")


if __name__ == "__main__":
    unittest.main()
