#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `assay scan` says that torch.load(weights_only=True) would do, held against what it does.

Makes archives as torch.save writes them, with pickles that torch wrote and with others by chance, damages some, loads each with torch and
scans it. Loading is safe: weights_only=True calls nothing that is not on torch's own list. Where torch fails in a function it called, with
arguments that only the function knows to be wrong, either answer is right; everywhere else the two must agree.

  weights_only.py --assay build/dev/assay [--count 2000] [--seed 1] [--keep FOLDER]      SKIP without torch
"""
import argparse
import io
import os
import random
import subprocess
import sys
import tempfile
import json
import warnings
import zipfile

try:
    import torch
except ImportError:
    print("SKIP: torch is not installed")
    sys.exit(0)

from pickle_maker import damaged, le


# --- making -----------------------------------------------------------------------------------------------------------------

ALLOWED = [("collections", "OrderedDict"), ("collections", "Counter"), ("__builtin__", "set"), ("builtins", "set"), ("builtins", "complex"), ("__builtin__", "bytearray"),
           ("torch", "Size"), ("torch", "device"), ("torch", "float32"), ("torch", "FloatStorage"), ("torch", "Tensor"), ("torch.nn.parameter", "Parameter"),
           ("torch.nn", "parameter.Parameter"), ("torch.serialization", "_get_layout"), ("_codecs", "encode"), ("torch.storage", "UntypedStorage"), ("torch", "per_tensor_affine"),
           ("torch._utils", "_rebuild_parameter")]
OTHERS = [("os", "system"), ("os.path", "join"), ("posix", "system"), ("builtins", "eval"), ("numpy", "dtype"), ("a.b", "C"), ("torch", "load"), ("builtins", "list"), ("builtins", "dict"),
          ("copy_reg", "_reconstructor"), ("sys", "exit"), ("nt.x", "y"), ("torch.nn.modules.linear", "Linear")]


def text(s):
    raw = s.encode()
    return b"X" + le(len(raw), 4) + raw


def name(module, attribute):
    return b"c" + module.encode() + b"\n" + attribute.encode() + b"\n"


LEGACY = False  # while a stream of the form before 1.6 is made


def storage(key="0", numel=4):
    return b"(" + text("storage") + name("torch", "FloatStorage") + text(key) + text("cpu") + b"K" + le(numel, 1) + (b"N" if LEGACY else b"") + b"tQ"


def legacy(data):
    """The five pickles of the form before 1.6, the fourth of them `data`, and one storage."""
    head = b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19." + b"\x80\x02M\xe9\x03." + b"\x80\x02}."
    named = b"FloatStorage" in data and text("0") in data
    return head + data + (b"\x80\x02]" + text("0") + b"a." + le(4, 8) + bytes(16) if named else b"\x80\x02].")


def tensor():
    return name("torch._utils", "_rebuild_tensor_v2") + b"(" + storage() + b"K\0K\x04\x85K\x01\x85\x89" + name("collections", "OrderedDict") + b")RtR"


def plain(rng):
    return rng.choice([b"N", b"\x88", b"\x89", b"K\x07", b"M\x07\x01", b"J\x07\0\0\x80", b"G?\xf0\0\0\0\0\0\0", b"\x8a\x02\xff\xff", text("key"), text(""), b"U\x03abc", b"U\x02\xc3\xa9",
                       b"U\x02\xff\xfe", b")", b"]", b"}", b"\x8f", tensor(), storage()])


def value(rng, depth=0):
    """One value, nearly always of opcodes that weights_only knows."""
    way = rng.randrange(22)
    if way < 7 or depth > 3:
        return plain(rng)
    inner = lambda: value(rng, depth + 1)
    if way == 7:
        return b"](" + b"".join(inner() for _ in range(rng.randrange(3))) + b"e"
    if way == 8:
        return b"]" + inner() + b"a"
    if way == 9:
        return b"}(" + b"".join(text("k%d" % i) + inner() for i in range(rng.randrange(3))) + b"u"
    if way == 10:
        return b"}" + rng.choice([text("k"), b"K\x01", b"N", inner()]) + inner() + b"s"
    if way == 11:
        return b"(" + b"".join(inner() for _ in range(rng.randrange(4))) + b"t"
    if way == 12:
        n = rng.randrange(1, 4)
        return b"".join(inner() for _ in range(n)) + {1: b"\x85", 2: b"\x86", 3: b"\x87"}[n]
    if way == 13:  # calls that torch makes in earnest
        return rng.choice([name("collections", "OrderedDict") + b")R", name("collections", "Counter") + b")R", name("builtins", "set") + b"]\x85R",
                           name("torch", "Size") + b"(K\x01K\x02t\x85R", name("torch", "device") + text("cpu") + b"\x85R", name("builtins", "complex") + b"K\x01K\x02\x86R",
                           name("_codecs", "encode") + text("abc") + text("latin1") + b"\x86R", name("torch.serialization", "_get_layout") + text("torch.strided") + b"\x85R",
                           name("__builtin__", "bytearray") + b")R", tensor(), name("torch._utils", "_rebuild_parameter") + tensor() + b"\x89" + name("collections", "OrderedDict") + b")R\x87R",
                           name("collections", "OrderedDict") + b")\x81", name("collections", "Counter") + b")\x81"])
    if way == 14:
        return name(*rng.choice(ALLOWED))
    if way == 15:
        return name(*rng.choice(ALLOWED + OTHERS)) + rng.choice([b")R", b")\x81", inner() + b"\x85R", inner() + b"\x85\x81"])
    if way == 16:
        return name(*rng.choice(OTHERS)) if rng.randrange(4) == 0 else plain(rng)
    if way == 17:
        return inner() + rng.choice([b"}b", b"}" + text("x") + b"K\x01sb", b"N}\x86b", inner() + b"b"])
    if way == 18:
        return inner() + rng.choice([text("k") + inner() + b"s", inner() + b"a", b"(" + text("k") + inner() + b"u", b"(" + inner() + b"e"])
    if way == 19:
        index = rng.choice([b"\x00", b"\x07"])
        return inner() + rng.choice([b"q" + index, b"q" + index + b"h" + index + b"\x86", b"r" + index + b"\0\0\0"])
    if way == 20 and rng.randrange(3) == 0:
        return rng.choice([b"N0" + inner(), b"F1.5\n", b"\x8c\x01a", b"I1\n", b"(l", inner() + b"\x94", b"\x80\x04" + inner(), b"\x80\x09" + inner(), inner() + b"2\x86", b"C\x01a",
                           b"K\x05Q", b")Q", text("storage") + b"Q", text("storage") + b"\x85Q", text("other") + b"\x85Q", b"h\x63"])
    return plain(rng)


def written(rng):
    """What torch.save writes of objects that are in checkpoints."""
    t = torch.arange(6.0)
    values = [{"w": t, "v": t[2:]}, [torch.nn.Parameter(t)], torch.nn.Linear(2, 2).state_dict(), torch.optim.Adam([torch.nn.Parameter(t)]).state_dict(), {"s": torch.eye(3).to_sparse()},
              torch.quantize_per_tensor(t, 0.1, 0, torch.quint8), {"d": torch.float16, "z": torch.Size([1, 2]), "c": torch.device("cpu"), "b": b"abc", "y": bytearray(b"x"), "q": {1, 2}},
              torch.nn.Linear(2, 2), {"m": torch.empty(2, device="meta")}, 1 + 2j, t.to(torch.bfloat16), {"r": range(3)}, {"f": frozenset([1])}, torch.Generator().get_state()]
    buffer = io.BytesIO()
    torch.save(rng.choice(values), buffer, _use_new_zipfile_serialization=True)
    with zipfile.ZipFile(buffer) as archive:
        names = archive.namelist()
        pickle = next(n for n in names if n.endswith("/data.pkl"))
        return archive.read(pickle), {n.split("/", 1)[1]: archive.read(n) for n in names if n != pickle}


def make(rng):
    global LEGACY
    LEGACY = rng.randrange(5) == 0
    if LEGACY:
        data = b"\x80\x02" + value(rng) + b"."
        if rng.randrange(5) == 0:
            data = damaged(rng, data, b"\x80\x02" + value(rng) + b".")
        return legacy(data), data
    members = {"byteorder": b"little", "version": b"3\n", "data/0": bytes(16)}
    if rng.randrange(8) == 0:
        data, members = written(rng)
    else:
        data = b"\x80\x02" + value(rng) + b"."
    if rng.randrange(5) == 0:
        data = damaged(rng, data, b"\x80\x02" + value(rng) + b".")
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("archive/data.pkl", data)
        for member, content in members.items():
            archive.writestr("archive/" + member, content)
    return out.getvalue(), data


# --- both answers -----------------------------------------------------------------------------------------------------------

def ask_torch(data):
    """"accepts", "refuses", or "fails" where it broke in what it called; and the message."""
    try:
        torch.load(io.BytesIO(data), weights_only=True, map_location="cpu")
        return "accepts", ""
    except Exception as error:
        message = str(error)
        traceback = error.__traceback__
        frames = []
        while traceback:
            frames.append(traceback.tb_frame.f_code.co_filename)
            traceback = traceback.tb_next
        refused = "Weights only load failed" in message and "WeightsUnpickler error" in message
        in_machine = frames[-1].endswith("_weights_only_unpickler.py")
        line = message.split("WeightsUnpickler error: ")[-1].split("\n")[0]
        return ("refuses" if refused else "fails" if in_machine else "fails-called"), type(error).__name__ + ": " + line


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", help="a folder for the archives that differ")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    counts = {"accepts": 0, "refuses": 0, "fails": 0, "fails-called": 0}
    bad = over = 0
    for begin in range(0, options.count, 1000):
        with tempfile.TemporaryDirectory() as folder:
            asked = {}
            for i in range(begin, min(options.count, begin + 1000)):
                data, pickle = make(random.Random(options.seed * 1_000_003 + i))
                asked["%07d.pt" % i] = (data, pickle, ask_torch(data))
                with open(os.path.join(folder, "%07d.pt" % i), "wb") as file:
                    file.write(data)
            done = subprocess.run([options.assay, "scan", "--json", folder], capture_output=True, timeout=600)
            documents = {os.path.basename(row["path"]): row["weights_only"] for row in json.loads(done.stdout)["files"]}
            for file_name, (data, pickle, (answer, message)) in asked.items():
                counts[answer] += 1
                said = documents[file_name]
                differs = said["accepts"] is not (answer == "accepts")
                if not differs:
                    continue
                if answer.startswith("fails"):
                    over += 1
                    if not options.keep:
                        continue
                else:
                    bad += 1
                print("%s: torch %s (%.150s), assay says %s (%.150s)\n    %.200r" % (file_name, answer, message, "accepts" if said["accepts"] else "refuses", said["reason"], pickle))
                if options.keep:
                    with open(os.path.join(options.keep, file_name), "wb") as file:
                        file.write(data)
    print("%d archives: torch accepts %d, refuses %d, fails on %d; %d answers differ, and %d where torch fails in what it calls" % (
        options.count, counts["accepts"], counts["refuses"], counts["fails"] + counts["fails-called"], bad, over))
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
