#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the source tree to the house rules: layers, platform files, length, licence lines, words.

    check_layers.py [ROOT]

Prints one line per broken rule (file:line: rule: what) and exits 1 when there is any, 0 when there is none.
"""
import os
import re
import sys

# A layer may include the layers of a lower rank; siblings share a rank and do not see each other.
RANKS = {"base": 0, "bytes": 1, "containers": 2, "model": 2, "formats": 3, "values": 3, "analysis": 4, "report": 5, "capi": 6, "cli": 6}
CORE = {layer for layer, rank in RANKS.items() if rank < 6}

# The lowest layer that may include each public header. tensor.hpp and dtype.hpp are plain vocabulary over ByteSource: containers
# make Storages with them, though what they declare is defined in model/.
PUBLIC = {
    "version.hpp": 0, "result.hpp": 0, "errors.def": 0, "limits.hpp": 0, "finding.hpp": 0, "dtype.hpp": 0, "dtypes.def": 0,
    "source.hpp": 1, "tensor.hpp": 1, "pickle.hpp": 2, "checkpoint.hpp": 2, "values.hpp": 3, "assay.hpp": 6, "assay.h": 6, "assay_pickle.h": 6,
}
PUBLIC_LAYER = {"pickle.hpp": "containers", "checkpoint.hpp": "model", "values.hpp": "values"}  # where a sibling must not reach

# Standard headers that no core file may name, and those that need an operating system (or its libraries) and so *_native.cpp.
NEVER_IN_CORE = {"iostream", "ostream", "istream", "fstream", "sstream", "iomanip", "locale", "regex", "format", "print", "stdexcept"}
NATIVE_ONLY = {"thread", "mutex", "shared_mutex", "condition_variable", "future", "filesystem", "unistd.h", "fcntl.h", "dirent.h",
               "pthread.h", "libdeflate.h", "curl/curl.h"}
NEVER_ANYWHERE = {"format", "print", "generator", "mdspan"}  # g++ 12 has none of them

MAX_LINES = 500
LONG_FILES = {  # path -> why it may be longer
    "src/analysis/scan/globals_benign.def": "a table, one row a name",
    "src/analysis/scan/globals_dangerous.def": "a table, one row a name",
}

CODE = (".cpp", ".hpp", ".h", ".c", ".def", ".py", ".cmake", ".sh", ".js", ".mjs", ".ts")
CODE_NAMES = ("CMakeLists.txt", "Makefile", "run")
TEXT = CODE + (".md", ".in", ".json", ".html", ".css", ".yml")
SKIPPED = {".git", "build", "__pycache__", "node_modules", "dist", "data", ".cache"}
ALLOWED_HOSTS = re.compile(r"^(localhost|127\.0\.0\.1|([a-z0-9-]+\.)*example\.(com|org)|www\.w3\.org|json\.schemastore\.org|huggingface\.co|(git-lfs|hawser)\.github\.com|(www\.)?apache\.org)$")
FORBIDDEN = [
    (re.compile(r"(?<![\w.])/(?:work|home|root|Users)/\w"), "a path of somebody's machine"),
    (re.compile(r"\b(?:TODO|FIXME|XXX)\b"), "unfinished work"),
    (re.compile(r"\b(?:deb|security|registry|proxy|files|index)\.[a-z0-9-]+\.(?:org|com|io)\b"), "a package registry's host"),
    (re.compile(r"\bpypi\.[a-z]+\b"), "a package registry's host"),
]
EXCEPTION_WORDS = re.compile(r"\b(throw|try|catch|dynamic_cast|typeid)\b")


def code_only(text):
    """The text with comments and the insides of literals blanked, line by line in place."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group(0))
    pattern = r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\''
    return re.sub(pattern, blank, text, flags=re.S)


def include_rules(path, layer, name, quoted):
    """The broken rules of one #include line, as (rule, what) pairs. `layer` is None outside src/."""
    native = path.endswith("_native.cpp")
    if not quoted:
        if name in NEVER_ANYWHERE:
            yield "standard", f"<{name}> is not in every supported standard library"
        elif layer in CORE and name in NEVER_IN_CORE:
            yield "core", f"<{name}> has no place below the command line"
        elif layer in CORE and not native and (name in NATIVE_ONLY or name.startswith("sys/")):
            yield "native", f"<{name}> belongs in a *_native.cpp file"
        return
    public = name.startswith("assay/")
    if path.startswith("include/"):
        if not public:
            yield "layer", f'a public header includes "{name}", which is not installed'
            return
        own = PUBLIC.get(os.path.basename(path))
        other = PUBLIC.get(name[6:])
        if own is None or other is None:
            yield "layer", f"{path if own is None else name} is not in the table of public headers"
        elif other > own:
            yield "layer", f'{os.path.basename(path)} includes "{name}" of a layer above it'
        return
    if layer is None:
        return
    if layer in CORE and not native and name.endswith("_native.hpp"):
        yield "native", f'"{name}" may only be included by a *_native.cpp file'
    if public:
        rank = PUBLIC.get(name[6:])
        if rank is None:
            yield "layer", f'"{name}" is not in the table of public headers'
        elif rank > RANKS[layer]:
            yield "layer", f'{layer} includes "{name}" of a layer above it'
        elif rank == RANKS[layer] and PUBLIC_LAYER.get(name[6:], layer) != layer:
            yield "layer", f'{layer} includes "{name}" of its sibling {PUBLIC_LAYER[name[6:]]}'
        return
    if "/" not in name:
        yield "layer", f'"{name}" is named without its layer'
        return
    other = name.split("/")[0]
    if other == layer:
        return
    if other not in RANKS:
        if layer in CORE:
            yield "layer", f'{layer} includes "{name}", which is in no layer'
    elif RANKS[other] == RANKS[layer]:
        yield "layer", f'{layer} includes "{name}" of its sibling {other}'
    elif RANKS[other] > RANKS[layer]:
        yield "layer", f'{layer} includes "{name}" of a layer above it'


def check_code(path, text, report):
    lines = text.split("\n")
    if not any("SPDX-License-Identifier: Apache-2.0" in line for line in lines[:3]):
        report(1, "licence", "no SPDX line at the top")
    count = len(lines) - (lines[-1] == "")
    if count > MAX_LINES and path not in LONG_FILES:
        report(MAX_LINES + 1, "length", f"{count} lines, at most {MAX_LINES}")
    if os.path.basename(path) != "Makefile":
        for number, line in enumerate(lines, 1):
            if "\t" in line:
                report(number, "tab", "a tab")
    if not path.endswith((".cpp", ".hpp", ".h", ".c", ".def")):
        return
    parts = path.split("/")
    layer = parts[1] if parts[0] == "src" and len(parts) > 2 and parts[1] in RANKS else None
    if parts[0] == "src" and layer is None:
        report(1, "layer", "in no layer")
    for number, line in enumerate(lines, 1):
        match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if match:
            for rule, what in include_rules(path, layer, match.group(2), match.group(1) == '"'):
                report(number, rule, what)
    if layer in CORE or path.startswith("include/") and path.endswith(".hpp"):
        for number, line in enumerate(code_only(text).split("\n"), 1):
            match = EXCEPTION_WORDS.search(line)
            if match and not line.lstrip().startswith("#"):
                report(number, "core", f"'{match.group(1)}': the core has neither exceptions nor RTTI")


def check_words(text, report):
    for number, line in enumerate(text.split("\n"), 1):
        if "\r" in line:
            report(number, "text", "a carriage return")
        if line != line.rstrip():
            report(number, "text", "trailing blanks")
        for pattern, what in FORBIDDEN:
            if pattern.search(line):
                report(number, "words", what)
        for host in re.findall(r"https?://([A-Za-z0-9.-]+)", line):
            if not ALLOWED_HOSTS.match(host.rstrip(".")):
                report(number, "words", f"a link to {host}")


def check_tree(root):
    """All broken rules of the tree as sorted (path, line, rule, what)."""
    problems = []
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in SKIPPED)
        for name in sorted(files):
            path = os.path.relpath(os.path.join(folder, name), root).replace(os.sep, "/")
            is_code = name.endswith(CODE) or name in CODE_NAMES
            if not is_code and not name.endswith(TEXT):
                continue
            if path.startswith("tools/check_layers") or name == "package-lock.json":
                continue  # they spell out what they forbid; npm writes the other
            try:
                with open(os.path.join(folder, name), encoding="utf-8", newline="") as file:
                    text = file.read()
            except UnicodeDecodeError:
                problems.append((path, 1, "text", "not UTF-8"))
                continue

            def report(line, rule, what, path=path):
                problems.append((path, line, rule, what))
            if is_code:
                check_code(path, text, report)
            check_words(text, report)
    return sorted(problems)


def main(arguments):
    root = arguments[1] if len(arguments) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    if not os.path.isdir(os.path.join(root, "src")):
        print(f"{root}: no src folder in it", file=sys.stderr)
        return 2
    problems = check_tree(root)
    for path, line, rule, what in problems:
        print(f"{path}:{line}: {rule}: {what}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
