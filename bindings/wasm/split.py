#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shrinks the linked module and splits it in two: core.wasm, which everything needs, and core.deferred.wasm, which waits for its first use.

usage: split.py LINKED CORE DEFERRED --opt WASM-OPT --split WASM-SPLIT NAME...

A NAME is a namespace or a function of C++, or a function of the C API. What has it in its own name is put off, and with it all that only that
leads to. Both modules are one program with one memory: where core.wasm calls what was put off, it calls an import of "deferred", whose name is a
place in the table; the host then loads core.deferred.wasm, whose imports of "core" are core.wasm's exports and which puts its functions into
these places. LINKED must have the names of its functions, as the linker mangles them.
"""
import argparse
import collections
import pathlib
import re
import subprocess
import sys

# What the module uses; binaryen would else refuse it.
FEATURES = ["--enable-simd", "--enable-bulk-memory", "--enable-sign-ext", "--enable-mutable-globals", "--enable-nontrapping-float-to-int"]


def mangled(name):
    """An expression for how a C++ name stands in those of the linker: "assay::open" as "5assay4open". Those of C are themselves."""
    if name.startswith("assay_"):
        return name
    return r"(?:(?<![0-9])|(?<=_GLOBAL__N_1))" + "".join(f"{len(part)}{part}" for part in name.split("::"))


def owner(function):
    """Of the part of a coroutine that is entered through the table: the function that starts it."""
    return re.sub(r"\.(resume|destroy|cleanup)$", "", function)


def read_calls(graph):
    """From what --print-call-graph says: who calls whom, and what is entered from outside or through the table."""
    calls = collections.defaultdict(set)
    entered = set()
    functions = set()
    graph = graph[graph.index("\n  node [shape=box") :]  # behind its key
    for caller, callee, style in re.findall(r'^  "([^"]+)" (?:-> "([^"]+)"|\[style="(.*)\];)', graph, re.MULTILINE):
        if callee:
            calls[caller].add(callee)
        elif "turquoise" not in style:  # no import
            functions.add(caller)
            if "gray" in style or "rounded" in style:
                entered.add(caller)
    # A coroutine's parts go with what starts it. Where the compiler has put that into its callers nothing tells whose it was: it is put off, as
    # most work that stops on its way.
    for function in [f for f in entered if owner(f) != f]:
        entered.remove(function)
        calls[owner(function)].add(function)
    return functions, calls, entered


def put_off(functions, calls, entered, names):
    """The functions named, and all that can only be reached through them."""
    named = set()
    for name in names:
        found = {f for f in functions if re.search(mangled(name), f)}
        if not found:
            print(f"split.py: no function is named {name}: what took its place is not put off", file=sys.stderr)
        named |= found
    kept = entered - named
    todo = list(kept)
    while todo:
        for callee in calls[todo.pop()] - named - kept:
            kept.add(callee)
            todo.append(callee)
    return functions - kept


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("linked", type=pathlib.Path)
    parser.add_argument("core")
    parser.add_argument("deferred")
    parser.add_argument("--opt", required=True)
    parser.add_argument("--split", required=True)
    parser.add_argument("names", nargs="+")
    args = parser.parse_args()

    graph = subprocess.run([args.opt, *FEATURES, args.linked, "--print-call-graph", "-o", "/dev/null"], check=True, capture_output=True, text=True)
    off = args.linked.with_suffix(".deferred.txt")
    off.write_text("\n".join(sorted(put_off(*read_calls(graph.stdout), args.names))) + "\n")
    subprocess.run([args.split, *FEATURES, args.linked, f"--split-funcs=@{off}", "--import-namespace=core", "--placeholder-namespace=deferred",
                    "-o1", args.core, "-o2", args.deferred], check=True)
    # Only now: what is put into the one function that calls it could not be put off any more.
    for module in args.core, args.deferred:
        subprocess.run([args.opt, *FEATURES, "-Oz", "--converge", "--low-memory-unused", module, "-o", module], check=True)


if __name__ == "__main__":
    main()
