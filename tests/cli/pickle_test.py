#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares `assay pickle --ops` with Python's own disassembler on every pickle of the written files: opcodes, positions, arguments, memo.

usage: pickle_test.py PROGRAM DATA
"""
import io
import json
import os
import pickletools
import subprocess
import sys
import zipfile

PROGRAM, DATA = sys.argv[1:3]
FETCH = {"GET", "BINGET", "LONG_BINGET"}
STORE = {"PUT", "BINPUT", "LONG_BINPUT"}


def ours(path, member=None):
    words = [PROGRAM, "pickle", path] + ([member] if member else []) + ["--ops", "--json"]
    done = subprocess.run(words, capture_output=True, timeout=60)
    return json.loads(done.stdout), done.returncode


def same_argument(opcode, argument, op):
    if opcode.arg is None:
        return "argument" not in op
    if opcode.name in ("GLOBAL", "INST"):
        return " ".join(op["argument"]) == argument
    if opcode.name in ("LONG1", "LONG4") or isinstance(argument, (bytes, bytearray)):
        return True  # shown as bytes; the values are compared elsewhere
    if opcode.name in ("INT", "LONG", "FLOAT", "STRING", "UNICODE", "GET", "PUT"):
        return True  # shown as it is written
    return op["argument"] == argument


def compare(name, stream, ops):
    theirs = list(pickletools.genops(stream))
    if [o.name for o, _, _ in theirs] != [op["opcode"] for op in ops]:
        sys.exit(f"{name}: other opcodes: {[o.name for o, _, _ in theirs][:8]} and {[op['opcode'] for op in ops][:8]}")
    base, memos, depth = ops[0]["offset"] - theirs[0][2], 0, []
    for (opcode, argument, position), op in zip(theirs, ops):
        if op["offset"] - base != position or not same_argument(opcode, argument, op):
            sys.exit(f"{name}: {opcode.name} {argument!r} at {position}: {op}")
        if opcode.name in FETCH | STORE and op["memo"] != int(argument):
            sys.exit(f"{name}: {opcode.name} {argument} has memo {op['memo']}")
        if opcode.name == "MEMOIZE" and op["memo"] != memos:
            sys.exit(f"{name}: MEMOIZE {memos} has memo {op['memo']}")
        memos += opcode.name in STORE or opcode.name == "MEMOIZE"
        if opcode.name == "MARK":
            depth.append(op["offset"])
        if op["marks"] < len(depth):
            start = depth.pop()
            if opcode.name not in ("POP",) and op["mark"] != start:
                sys.exit(f"{name}: {opcode.name} closes {op['mark']}, not {start}")
    if ops[-1]["stack"] != 0:
        sys.exit(f"{name}: the stack is not empty behind STOP")
    return len(ops)


def main():
    streams = opcodes = 0
    for folder in ("torch", "old", "dist"):
        for root, _, names in os.walk(os.path.join(DATA, folder)):
            for name in sorted(names):
                path = os.path.join(root, name)
                content = open(path, "rb").read()
                if content[:4] == b"PK\3\4" and not name.endswith(".distcp"):
                    archive = zipfile.ZipFile(io.BytesIO(content))
                    members = [m for m in archive.namelist() if m.endswith(".pkl")]
                    for member in members:
                        answer, _ = ours(path, member)
                        opcodes += compare(f"{name} {member}", archive.read(member), answer["pickles"][0]["ops"])
                        streams += 1
                elif content[:1] in (b"\x80", b"L", b"(") and "joblib" not in name:
                    answer, code = ours(path)
                    for pickle in answer["pickles"]:
                        opcodes += compare(name, content[pickle["offset"]:pickle["end"]], pickle["ops"])
                        streams += 1
    print(f"{streams} streams, {opcodes} opcodes are the same")
    if streams < 60:
        sys.exit("fewer pickles than there should be")


if __name__ == "__main__":
    main()
