#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of golden files and compares what they print.

usage: run.py --assay PROGRAM [--update] FILE...

A golden file holds steps; lines that begin with # are for the reader:

    $ assay tensors safetensors/values.safetensors
    what it prints on standard output
    --- stderr
    what it prints on standard error, if anything
    --- exit 2        only where it is not 0

Commands run in an empty folder in which the folders of tests/data can be reached by their names; what one step writes the next may read.
The program's version is shown as VERSION. A line that ends without a newline ends in "--- no newline". --update writes what was
printed into the files."""
import argparse
import difflib
import os
import re
import shlex
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "..", "data")


def steps_of(text):
    """[(comment lines, command, expected text)]"""
    steps, comments, command, expected = [], [], None, []
    for line in text.splitlines(keepends=True):
        if line.startswith("$ "):
            if command is not None:
                steps.append((comments, command, "".join(expected)))
                comments = []
                while expected and expected[-1].startswith("#"):
                    comments.insert(0, expected.pop())
                steps[-1] = (steps[-1][0], command, "".join(expected))
            command, expected = line[2:].rstrip("\n"), []
        elif command is None:
            comments.append(line)
        else:
            expected.append(line)
    if command is not None:
        steps.append((comments, command, "".join(expected)))
    return steps


def shown(text):
    if not text or text.endswith("\n"):
        return text
    return text + "\n--- no newline\n"


def run(program, version, command, folder):
    words = shlex.split(command)
    if words[0] != "assay":
        sys.exit("a golden command begins with assay: " + command)
    environment = {"PATH": os.environ.get("PATH", ""), "LANG": "C.UTF-8"}
    for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LLVM_PROFILE_FILE"):
        if name in os.environ:
            environment[name] = os.environ[name]
    done = subprocess.run([program] + words[1:], cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
    out = done.stdout.decode("utf-8", "backslashreplace").replace(version, "VERSION")
    err = done.stderr.decode("utf-8", "backslashreplace").replace(version, "VERSION")
    text = shown(out)
    if err:
        text += "--- stderr\n" + shown(err)
    if done.returncode != 0:
        text += "--- exit %d\n" % done.returncode
    return text


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    program = os.path.abspath(arguments.assay)
    version = re.search(r"[0-9][0-9.]*", subprocess.run([program, "--version"], capture_output=True, text=True).stdout).group()
    failed = 0
    for path in arguments.files:
        with open(path, encoding="utf-8", newline="") as f:
            text = f.read()
        steps = steps_of(text)
        if not steps:
            sys.exit(path + " has no step")
        fresh = ""
        with tempfile.TemporaryDirectory() as folder:
            for name in ("safetensors", "torch", "old", "dist"):
                os.symlink(os.path.join(DATA, name), os.path.join(folder, name))
            for comments, command, expected in steps:
                printed = run(program, version, command, folder)
                fresh += "".join(comments) + "$ " + command + "\n" + printed
                if printed != expected and not arguments.update:
                    failed += 1
                    print("%s: $ %s" % (os.path.basename(path), command))
                    sys.stdout.writelines(difflib.unified_diff(expected.splitlines(True), printed.splitlines(True), "expected", "printed"))
        if arguments.update and fresh != text:
            with open(path, "w", encoding="utf-8", newline="") as f:
                f.write(fresh)
            print("wrote " + path)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
