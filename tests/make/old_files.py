#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/old/: files that are no torch zip, written by torch, pickle, numpy and joblib themselves.

expected.json holds what the same libraries read back, by the names a listing gives. Needs torch 2.13, numpy 2 and joblib:
python3 tests/make/old_files.py
The outputs are committed, so the tests need none of them. The tar form is written here by hand; no installable torch does.
"""
import collections
import io
import json
import pathlib
import pickle
import struct
import sys
import tarfile
import warnings

try:
    import joblib
    import numpy as np
    import torch
except ImportError as missing:
    sys.exit(f"skipped: {missing}")

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import torch_files

OUT = pathlib.Path(__file__).resolve().parent.parent / "data" / "old"
expected = {}


def expect(name, value):
    out = []
    torch_files.flatten("", value, out)
    expected[name] = out


def legacy(name, value, loads=True, **options):
    torch.save(value, OUT / name, _use_new_zipfile_serialization=False, **options)
    expect(name, torch.load(OUT / name, weights_only=False) if loads else value)


def plain(name, value, protocol):
    (OUT / name).write_bytes(pickle.dumps(value, protocol))
    expect(name, pickle.loads((OUT / name).read_bytes()))


def state():
    base = torch.arange(24, dtype=torch.float32)
    # Keys are addresses as text, so their order is neither that of the tensors nor that of their sizes.
    return {"w": base.reshape(4, 6).t(), "tied": base, "half": torch.tensor([1.5, -2.0], dtype=torch.float16), "scalar": torch.tensor(7),
            "flags": torch.tensor([True, False, True]), "c": torch.tensor([1 + 2j]), "empty": torch.empty(0, 3), "epoch": 3,
            "b": torch.arange(5, dtype=torch.uint8)[1:3]}


def arrays():
    return {"f": np.arange(6, dtype=np.float32).reshape(2, 3), "fortran": np.asfortranarray(np.arange(6, dtype=np.int16).reshape(2, 3)),
            "big": np.array([1, 2, 300], dtype=">i4"), "flag": np.array([True, False]), "scalar": np.array(2.5), "empty": np.zeros((0, 2))}


def tar_form(name, order, data):
    """As torch 0.1 wrote it: order is that of a tensor's record, with the garbage of the time behind the dimensions."""
    def record(value):
        return pickle.dumps(value, 2)

    class Name:
        def __init__(self, module, name):
            self.text = f"c{module}\n{name}\n".encode()

    def raw_tuple(*items):
        body = b"".join(item.text if isinstance(item, Name) else record(item)[2:-1] for item in items)
        return b"\x80\x02(" + body + b"t."

    f32, i64 = Name("torch", "FloatStorage"), Name("torch", "LongStorage")
    views = order == "new"
    storages = record(2)
    for key, cls, values in ((11, f32, data.astype("<f4")), (12, i64, np.array([5, -6, 7], dtype="<i8"))):
        storages += raw_tuple(key, "cpu", cls) if views else raw_tuple(key, cls)
        storages += struct.pack("<q", len(values)) + values.tobytes()
    if views:
        storages += record([(13, 11, 2, 4)])
    tensors, rows = b"", [(1, 11, "FloatTensor", (2, 3), (3, 1), 0), (2, 11, "FloatTensor", (3, 2), (1, 3), 0), (3, 12, "LongTensor", (2,), (1,), 1)]
    if views:
        rows += [(4, 13, "FloatTensor", (3,), (1,), 1), (5, None, "FloatTensor", (), (), 0)]
    for key, storage, cls, size, stride, offset in rows:
        cls = Name("torch", cls)
        tensors += raw_tuple(key, storage, cls) if views else raw_tuple(key, cls, storage)
        tensors += struct.pack("<i", len(size)) + b"\xde\xad\xbe\xef" + struct.pack(f"<{len(size)}q", *size) + struct.pack(f"<{len(stride)}q", *stride)
        tensors += struct.pack("<q", offset)
    tensors = record(len(rows)) + tensors
    pairs = [("w", 1), ("t", 2), ("n", 3)] + ([("v", 4), ("e", 5)] if views else [])
    body = b"".join(b"U" + bytes([len(k)]) + k.encode() + b"U" + bytes([len(str(i))]) + str(i).encode() + b"Q" for k, i in pairs)
    obj = b"\x80\x02}(" + body + b"U\x05epochK\x09u."
    with tarfile.open(OUT / name, "w", format=tarfile.PAX_FORMAT) as archive:
        for member, content in (("sys_info", record({"protocol_version": 1000, "little_endian": True})), ("pickle", obj), ("tensors", tensors), ("storages", storages)):
            info = tarfile.TarInfo(member)
            info.size = len(content)
            info.mtime = 1.5 if views else 1  # a fraction makes a PAX record
            archive.addfile(info, io.BytesIO(content))
    base = torch.from_numpy(data.copy())
    value = {"w": base[:6].reshape(2, 3), "t": base[:6].reshape(2, 3).t(), "n": torch.tensor([-6, 7])}
    if views:
        value |= {"v": base[3:6], "e": torch.empty(0)}
    expect(name, value)


def main():
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    OUT.mkdir(parents=True, exist_ok=True)
    for protocol in range(6):
        legacy(f"legacy{protocol}.pt", state(), loads=protocol > 0, pickle_protocol=protocol)
    # The class's source goes into the file; a stand-in for torch's own.
    torch.serialization.get_source_lines_and_file = lambda obj, error_msg=None: (["class Module: pass\n"], 1, "module.py")
    legacy("module.pt", torch.nn.Sequential(collections.OrderedDict(fc=torch.nn.Linear(3, 2), norm=torch.nn.BatchNorm1d(2))))
    legacy("untyped.pt", {"u": torch.tensor([1, 300], dtype=torch.uint16), "f": torch.tensor([1.0, 2.0]).to(torch.float8_e4m3fn), "w": torch.ones(3)}, loads=False)
    both = io.BytesIO()
    torch.save({"w": torch.ones(2)}, both, _use_new_zipfile_serialization=False)
    torch.save({"w": torch.zeros(3)}, both, _use_new_zipfile_serialization=False)
    (OUT / "twice.pt").write_bytes(both.getvalue())
    expect("twice.pt", {"w": torch.ones(2)})

    tar_form("new.tar", "new", np.arange(1, 9, dtype=np.float32))
    tar_form("first.tar", "first", np.arange(1, 7, dtype=np.float32))

    tensors = {"a": torch.tensor([1.0, -2.5]), "p": torch.nn.Parameter(torch.ones(2, 2, dtype=torch.bfloat16)), "list": [torch.tensor([3, 4])], "n": 7}
    tensors["same"] = tensors["a"]
    for protocol in (2, 4):
        plain(f"tensors{protocol}.pkl", tensors, protocol)
        plain(f"arrays{protocol}.pkl", arrays(), protocol)
    plain("storage.pkl", torch.arange(3.0).storage(), 4)
    plain("protocol0.pkl", {"a": np.arange(3.0), "n": [1, 2]}, 0)
    plain("values.pkl", {"lr": 0.1, "names": ["a", "b"]}, 4)

    joblib.dump({"model": arrays(), "note": "x"}, OUT / "joblib.pkl")
    expect("joblib.pkl", joblib.load(OUT / "joblib.pkl"))

    for name, array in arrays().items():
        np.save(OUT / f"{name}.npy", array)
        expect(f"{name}.npy", {"array": array})
    np.lib.format.write_array(open(OUT / "version3.npy", "wb"), np.array([1.0, 2.0]), version=(3, 0))
    expect("version3.npy", {"array": np.array([1.0, 2.0])})
    with open(OUT / "several.npy", "wb") as file:
        np.save(file, np.arange(3))
        np.save(file, np.arange(2.0))
    expect("several.npy", {"array": np.arange(3), "array.1": np.arange(2.0)})
    np.save(OUT / "objects.npy", np.array({"conv": np.arange(4.0, dtype=np.float32)}, dtype=object), allow_pickle=True)
    expect("objects.npy", {"array.0.conv": np.arange(4.0, dtype=np.float32)})
    np.savez(OUT / "stored.npz", **arrays(), texts=np.array(["ab", "c"]))
    np.savez_compressed(OUT / "deflated.npz", **arrays(), objects=np.array([np.arange(2.0), None], dtype=object))
    expect("stored.npz", arrays())
    expect("deflated.npz", arrays() | {"objects.0": np.arange(2.0)})

    quoted = lambda value: json.dumps(value, ensure_ascii=False)
    text = ",\n".join(quoted(name) + ": [\n  " + ",\n  ".join(quoted(row) for row in rows) + "]" for name, rows in sorted(expected.items()))
    (OUT / "expected.json").write_text("{\n" + text + "\n}\n")
    print(f"{len(expected)} files, {sum(p.stat().st_size for p in OUT.iterdir())} bytes")


if __name__ == "__main__":
    main()
