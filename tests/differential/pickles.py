#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `assay scan` reports of a pickle, held against what CPython's own unpickler asks for.

Makes pickles (valid programs of every opcode, then damaged ones), lets CPython's C unpickler run each with `find_class` and
`persistent_load` replaced by recorders, so that nothing is imported and nothing is run, and scans the same bytes. Every import and every
call that CPython makes must be in the report. The other direction is free: a scanner may see more than one reader does.

  pickles.py --assay build/dev/assay [--count 3000] [--seed 1] [--keep FOLDER]
"""
import argparse
import collections
import copyreg
import io
import json
import os
import pickle
import random
import resource
import subprocess
import sys
import tempfile
import warnings

from pickle_maker import EXTENSIONS, make

LONGEST_NAME = 4096


def unlimited():
    """The limit is for CPython alone: a program under a sanitizer needs more addresses than there is memory."""
    most = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


# --- what CPython does ------------------------------------------------------------------------------------------------------

class Log:
    def __init__(self):
        self.imports = set()
        self.calls = collections.Counter()


def recorded_type(log, module, name):
    """A class that stands for module.name: whatever is done with it is logged, nothing happens."""
    where = module + "." + name

    class Meta(type):
        def __call__(cls, *args, **kwargs):
            log.calls[where] += 1
            return object.__new__(cls)

    def new(cls, *args, **kwargs):
        log.calls[where] += 1
        return object.__new__(cls)

    def ignore(self, *args):
        return None

    return Meta("Recorded", (), {"__new__": new, "__setitem__": ignore, "extend": ignore, "append": ignore, "add": ignore, "__getinitargs__": None})


class Recorder(pickle.Unpickler):
    def __init__(self, file, log, **options):
        super().__init__(file, **options)
        self.log = log

    def find_class(self, module, name):
        module, name = spelled(module), spelled(name)
        self.log.imports.add((module, name))
        return recorded_type(self.log, module, name)

    def persistent_load(self, pid):
        return recorded_type(self.log, "<persistent>", "")()


def ask_cpython(data, folder):
    """Everything that any of CPython's ways to read the bytes would import and call."""
    log = Log()
    path = os.path.join(folder, "asked.pkl")
    with open(path, "wb") as file:
        file.write(data)
    for options in ({}, {"encoding": "utf-8"}, {"fix_imports": False, "encoding": "bytes"}):
        for opened in (lambda: io.BytesIO(data), lambda: open(path, "rb")):
            one = Log()
            copyreg._extension_cache.clear()
            with opened() as file:
                try:
                    Recorder(file, one, **options).load()
                except Exception:
                    pass
            log.imports |= one.imports
            for name, times in one.calls.items():
                log.calls[name] = max(log.calls[name], times)
    del log.calls["<persistent>."]
    return log


def spelled(name):
    """As JSON has it: what is no UTF-8 as the text \\xNN."""
    return "".join("".join("\\x%02x" % b for b in c.encode("utf-8", "surrogatepass")) if "\ud800" <= c <= "\udfff" else c for c in name)


# --- what assay says --------------------------------------------------------------------------------------------------------

def compare(data, log, document):
    """What CPython does and the report does not have; empty when all is there."""
    if document["status"] == "incomplete" and any(max(len(module), len(name)) > LONGEST_NAME for module, name in log.imports):
        return []  # an import that no Python could make; the scan says that it stops there
    missing = []
    told = {(row.get("written") or row["name"]) for row in document["imports"]}
    benign = {(row.get("written") or row["name"]) for row in document["imports"] if row["class"] == "benign"}
    mapped = collections.defaultdict(set)
    for row in document["imports"]:
        mapped[row.get("written") or row["name"]].add(row["name"])
    calls = collections.Counter(row["callable"] for row in document["calls"])
    codes = {name: code for code, name in EXTENSIONS.items()}
    for module, name in log.imports:
        if (module, name) in codes:
            if not any(row["callable"] == "extension %d" % codes[module, name] for row in document["calls"]):
                missing.append("extension %d" % codes[module, name])
        elif (module or "?") + "." + (name or "?") not in told:
            missing.append("import %.60r" % (module + "." + name))
    for name, times in log.calls.items():
        pair = tuple(name.split(".", 1))
        if pair in codes or name in benign:
            continue
        seen = calls[name] + sum(calls[other] for other in mapped.get(name, ()) if other != name)
        if seen < times:
            missing.append("call %.60r (%d of %d)" % (name, seen, times))
    return missing


def scan(assay, folder, paths):
    done = subprocess.run([assay, "scan", "--json", folder], capture_output=True, timeout=600, preexec_fn=unlimited)
    if done.returncode not in (0, 1, 2):
        print("scan ended with %d: %s" % (done.returncode, done.stderr[-2000:]))
        sys.exit(1)
    return {os.path.basename(row["path"]): row for row in json.loads(done.stdout)["files"]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", help="a folder for the pickles that differ")
    options = parser.parse_args()
    for code, (module, name) in EXTENSIONS.items():
        copyreg.add_extension(module, name, code)
    warnings.simplefilter("ignore")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # CPython complains of its own bytearrays on damaged streams
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, resource.getrlimit(resource.RLIMIT_AS)[1]))  # memo indices of 2^32 are a MemoryError then
    bad = events = acting = 0
    batch_size = 2000
    for batch in range(0, options.count, batch_size):
        with tempfile.TemporaryDirectory() as work, tempfile.TemporaryDirectory() as folder:
            asked = {}
            for i in range(batch, min(options.count, batch + batch_size)):
                data = make(random.Random(options.seed * 1_000_003 + i))
                log = ask_cpython(data, work)
                asked["%07d.pkl" % i] = (data, log)
                events += len(log.imports) + sum(log.calls.values())
                acting += bool(log.imports)
                with open(os.path.join(folder, "%07d.pkl" % i), "wb") as file:
                    file.write(data)
            documents = scan(options.assay, folder, asked)
            for name, (data, log) in asked.items():
                document = documents[name]
                missing = compare(data, log, document)
                risky = [row for row in log.imports if row != ("collections", "OrderedDict")]
                if risky and document["verdict"] == "clean" and any(row["class"] != "benign" for row in document["imports"]):
                    missing.append("the verdict is clean")
                if not missing:
                    continue
                bad += 1
                if bad <= 20:
                    print("%s (%s, %s): not reported: %s" % (name, document["verdict"], document["status"], "; ".join(missing)))
                if options.keep:
                    with open(os.path.join(options.keep, name), "wb") as file:
                        file.write(data)
    print("%d pickles, %d of them import something; %d imports and calls seen by CPython; %d pickles differ" % (options.count, acting, events, bad))
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
