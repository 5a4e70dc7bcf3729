#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every row of cases.json: a broken file, a command, and the answer it must get.

usage: run.py --assay PROGRAM

A row: {"file", "run": command, "exit", "codes": every code that the error and the findings have, "readable"?: {tensor: bool}}.
Every answer must also be one JSON document in strict UTF-8, come within ten seconds, and not call an incomplete answer complete.
tests/make/bad_files.py writes the files."""
import argparse
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def bare(word):
    raise ValueError("bare " + word)


def faults(program, row):
    done = subprocess.run([program, row["run"], "--json", row["file"]], cwd=os.path.join(HERE, "files"), stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=10)
    found = []
    if done.returncode != row["exit"]:
        found.append("exit %d, not %d" % (done.returncode, row["exit"]))
    try:
        answer = json.loads(done.stdout.decode("utf-8"), parse_constant=bare)
    except ValueError as error:
        return found + ["no JSON: %s" % error]
    codes = {finding["code"] for finding in answer["findings"]}
    if "error" in answer:
        codes.add(answer["error"]["code"])
    if codes != set(row["codes"]):
        found.append("codes %s, not %s" % (sorted(codes), sorted(row["codes"])))
    if done.returncode == 2 and "error" not in answer and answer["complete"]:
        found.append("exit 2, but complete and without an error")
    readable = {tensor["name"]: tensor["readable"] for tensor in answer.get("tensors", [])}
    if readable != row.get("readable", readable):
        found.append("readable %s, not %s" % (readable, row["readable"]))
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    program = os.path.abspath(parser.parse_args().assay)
    with open(os.path.join(HERE, "cases.json"), encoding="utf-8") as f:
        rows = json.load(f)
    unused = set(os.listdir(os.path.join(HERE, "files"))) - {row["file"] for row in rows}
    failed = ["%s: no row names it" % name for name in sorted(unused)]
    for row in rows:
        try:
            failed += ["%s %s: %s" % (row["run"], row["file"], fault) for fault in faults(program, row)]
        except subprocess.TimeoutExpired:
            failed.append("%s %s: no answer" % (row["run"], row["file"]))
    for line in failed:
        print(line)
    print("%d rows, %d faults" % (len(rows), len(failed)))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
