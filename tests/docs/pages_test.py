#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds README.md and docs/ to what is so: dumps to the files in tests/data, codes to errors.def, formats and commands to the program, the
first picture to what it prints, links to files, and the keys that docs/json.md lists to those of real documents.

    pages_test.py ASSAY
"""
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs/formats").glob("*.md"))
# What the second column of a table has in code with a hyphen is a finding, an error or a format.
TOLD = re.compile(r"^\|[^|]*\|(.*)\|$")
CODE = re.compile(r"`([a-z0-9]+(?:-[a-z0-9]+)+)`")


def dumps_of(page, failures):
    """Lines "offset  bytes  text" are of the file that was named last."""
    lines, named = 0, None
    for number, line in enumerate(page.read_text().splitlines(), 1):
        for name in re.findall(r"`(tests/data/[^`]+)`", line):
            named = ROOT / name
            if not named.exists():
                failures.append(f"{page.name}:{number}: there is no {name}")
        dump = re.match(r"    ([0-9a-f]{4,})  ((?:[0-9a-f]{2} {1,2})+) ", line)
        if not dump:
            continue
        lines += 1
        shown = bytes.fromhex(dump[2])
        at = int(dump[1], 16)
        if named is None or named.read_bytes()[at : at + len(shown)] != shown:
            failures.append(f"{page.name}:{number}: {named} holds other bytes at {at:#x}")
    return lines


def picture_of(assay):
    """What README.md shows first."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([assay, "synth", "model.safetensors", "--dtype", "bf16"], cwd=folder, capture_output=True, check=True)
        tree = subprocess.run([assay, "tree", "model.safetensors", "--width", "100"], cwd=folder, capture_output=True, text=True, check=True)
    return "".join(f"    {line}\n" for line in tree.stdout.splitlines())


def commands_of(assay, page, failures):
    """Each "    $ assay …" prints the lines below it, standard output first. They run in one folder, one after the other."""
    blocks = re.findall(r"^    \$ (assay .*)\n((?:    (?!\$ ).*\n)*)", page.read_text(), re.M)
    with tempfile.TemporaryDirectory() as folder:
        for command, told in blocks:
            done = subprocess.run(["sh", "-c", command.replace("assay ", f"{assay} --width 100 ", 1)], cwd=folder, capture_output=True, text=True)
            printed = "".join(f"    {line}\n" for line in (done.stdout + done.stderr).splitlines())
            if printed != told:
                failures.append(f"{page.name}: {command} prints\n{printed}")
    return len(blocks)


# Keys whose values have names from the file, or of things, as keys.
OPEN = {"metadata", "quantiles", "bytes", "advice"}
ENVELOPE = {"schema", "assay", "path", "complete", "findings", "error"}
DATA = "tests/data"
DOCUMENTS = {
    "info": [[f"{DATA}/torch/train.pt"], [f"{DATA}/deepspeed/stage1"]],
    "tensors": [[f"{DATA}/torch/quantized.pt"], [f"{DATA}/torch/conj_neg.pt"]],
    "tree": [["MODEL"], [f"{DATA}/torch/nested.pt"]],
    "head": [["MODEL", "lm_head.weight"]],
    "dump": [[f"{DATA}/torch/dtypes.pt"]],
    "stats": [[f"{DATA}/safetensors/values.safetensors"]],
    "map": [[f"{DATA}/torch/views.pt"]],
    "show": [["MODEL", "lm_head.weight", "[0:2, 0:2]", "--format", "number,hex,bits"]],
    "hist": [["MODEL", "lm_head.weight", "--scale", "symlog"]],
    "heatmap": [["MODEL", "lm_head.weight"], [f"{DATA}/safetensors/values.safetensors", "floats"]],
    "moe": [["MODEL", "--plan", "2", "--similar", "0"]],
    "doctor": [[f"{DATA}/safetensors/values.safetensors"]],
    "diff": [["MODEL", "OTHER"]],
    "pickle": [[f"{DATA}/torch/train.pt"], [f"{DATA}/old/legacy2.pt"], [f"{DATA}/torch/train.pt", "--ops"]],
    "scan": [[f"{DATA}/torch/packages.pt"], [f"{DATA}/torch"], [f"{DATA}/old/protocol0.pkl"]],
    "verify": [["MODEL"], [f"{DATA}/safetensors/cut.safetensors"]],
    "formats": [[]],
    "synth": [["NEW"]],
}


def keys_of(value, keys):
    for item in value if isinstance(value, list) else []:
        keys_of(item, keys)
    for key, item in value.items() if isinstance(value, dict) else []:
        keys.add(key)
        if key not in OPEN and key not in {"findings", "error"}:
            keys_of(item, keys)


def check_keys(assay, failures):
    """Every key that is printed is in the command's row. Returns how many."""
    rows = dict(re.findall(r"^\| (`[^|]*`) \| (.*) \|$", (ROOT / "docs/json.md").read_text(), re.M))
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        files = {name: f"{folder}/{name}.safetensors" for name in ("MODEL", "OTHER", "NEW")}
        for seed, name in enumerate(("MODEL", "OTHER")):
            subprocess.run([assay, "synth", files[name], "--seed", str(seed)], capture_output=True, check=True)
        for command, runs in DOCUMENTS.items():
            row = next((text for names, text in rows.items() if f"`{command}`" in names and "`" in text), "")
            keys = set()
            for words in runs:
                arguments = [files.get(word, word) for word in words]
                keys_of(json.loads(subprocess.run([assay, command, *arguments, "--json"], capture_output=True, cwd=ROOT).stdout), keys)
            if not keys - ENVELOPE:
                failures.append(f"{command} printed nothing of its own")
            for key in sorted(keys - ENVELOPE - set(re.findall(r"\w+", row))):
                failures.append(f"docs/json.md does not tell of the key {key} of {command}")
            count += len(keys - ENVELOPE)
    return count


def main(assay):
    assay = str(Path(assay).resolve())
    failures = []
    errors = (ROOT / "include/assay/errors.def").read_text()
    codes = set(re.findall(r'ASSAY_CODE\(\w+, *"([^"]+)"', errors))
    formats = {row["id"]: row for row in json.loads(subprocess.run([assay, "formats", "--json"], capture_output=True, check=True).stdout)["formats"]}
    dumped = 0
    for page in PAGES:
        text = page.read_text()
        dumped += dumps_of(page, failures)
        for number, line in enumerate(text.splitlines(), 1):
            told = TOLD.match(line)
            for word in CODE.findall(told[1] if told else ""):
                if word not in codes and word not in formats:
                    failures.append(f"{page.name}:{number}: {word} is neither a code nor a format")
    if dumped < 40:
        failures.append(f"only {dumped} lines of dumps were found")
    index = (ROOT / "docs/formats/README.md").read_text()
    for name in formats:
        if f"`{name}`" not in index:
            failures.append(f"docs/formats/README.md does not name {name}")
    keys = check_keys(assay, failures)
    if commands_of(assay, ROOT / "docs/filters.md", failures) < 7:
        failures.append("docs/filters.md shows too few commands")
    readme = (ROOT / "README.md").read_text()
    commands = subprocess.run([assay, "--help"], capture_output=True, text=True, check=True).stdout
    listed = re.findall(r"^  ([a-z]+)(?:, \w+)?  +\S", commands.split("\nCommands\n")[1].split("\n\n")[0], re.M)
    if picture_of(assay) not in readme:
        failures.append("README.md shows another tree than `assay tree` prints of `assay synth --dtype bf16`")
    for command in set(listed) - {"help", "info"}:
        if f"`{command}`" not in readme and f"`assay {command}`" not in readme:
            failures.append(f"README.md does not name the command {command}")
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            if not (page.parent / link).exists():
                failures.append(f"{page.relative_to(ROOT)}: the link {link} leads nowhere")
    print("\n".join(failures) or f"{len(PAGES)} pages, {dumped} lines of dumps, {len(formats)} formats, {keys} keys: as they should be")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
