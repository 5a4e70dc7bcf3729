#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what `assay stats` says with numpy's numbers in double precision, which tests/make/numbers_files.py has computed: run.py --assay PROGRAM."""
import argparse
import json
import os
import subprocess
import sys

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "numbers")
COUNTS = ("measured", "zeros", "near_zeros", "nan", "pos_inf", "neg_inf", "subnormal")
EXACT = ("min", "max", "absmax")
MOMENTS = ("mean", "std", "l2", "skew", "kurtosis")


def faults(found, expected, allowed, quantiles):
    for key in COUNTS + EXACT:
        if found[key] != expected[key]:
            yield "%s is %r, not %r" % (key, found[key], expected[key])
    if found["exact"] is not True:
        yield "it is not exact"
    for key in MOMENTS:
        if key not in expected:
            if found[key] is not None:
                yield "%s is %r, not absent" % (key, found[key])
            continue
        # A mean is as exact as the values are spread; of the others a part of themselves, and of what they are differences of.
        scale = {"mean": expected["std"] + abs(expected["mean"]) * 1e-3, "skew": 1 + abs(expected[key]), "kurtosis": 3 + abs(expected[key])}.get(key, expected[key])
        if abs(found[key] - expected[key]) > allowed * scale * (4 if key in ("skew", "kurtosis") else 1):
            yield "%s is %r, not %r" % (key, found[key], expected[key])
    if not quantiles:
        if found["quantiles"] or found["distinct"] is not None and found["dtype"] in ("BF16", "F16"):
            yield "quantiles were left out, and are there"
        return
    if {p: float(value) for p, value in found["quantiles"].items()} != expected["quantiles"]:
        yield "quantiles are %r, not %r" % (found["quantiles"], expected["quantiles"])
    if found["distinct"] != expected.get("distinct"):
        yield "distinct is %r, not %r" % (found["distinct"], expected.get("distinct"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--assay", required=True)
    assay = parser.parse_args().assay
    with open(os.path.join(DATA, "expected.json"), encoding="utf-8") as file:
        files = json.load(file)
    bad = checked = 0
    for flags, allowed in (([], 1e-12), (["--threads", "3", "--no-mmap"], 1e-12), (["--no-quantiles"], 1e-7)):
        for name, tensors in files.items():
            printed = subprocess.run([assay, "stats", os.path.join(DATA, name), "--json", *flags], capture_output=True, check=True).stdout
            rows = {row["name"]: row for row in json.loads(printed)["tensors"]}
            for tensor, expected in tensors.items():
                checked += 1
                wide = rows[tensor]["dtype"] not in ("BF16", "F16")
                if "--no-quantiles" in flags:
                    counted = rows[tensor]["dtype"] in ("F8_E4M3", "F8_E5M2", "I8", "U8", "I16", "BOOL")
                    problems = list(faults(rows[tensor], expected, 1e-12 if wide else allowed, counted))
                else:
                    problems = list(faults(rows[tensor], expected, allowed, True))
                for problem in problems:
                    bad += 1
                    print("%s %s %s: %s" % (name, tensor, " ".join(flags), problem))
    print("%d tensors compared, %d faults" % (checked, bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
