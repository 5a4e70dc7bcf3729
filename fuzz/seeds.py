#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the seeds of targets whose input is a part of a file: seeds.py. What takes whole files starts from tests/data instead."""
import json
import os
import struct
import zipfile
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "..", "tests", "data")


def write(target, name, content):
    os.makedirs(os.path.join(HERE, "corpus", target), exist_ok=True)
    with open(os.path.join(HERE, "corpus", target, name), "wb") as file:
        file.write(content)


def pickles():
    for name in ("dtypes", "quantized", "module", "numpy", "protocol0", "protocol5", "sparse", "script"):
        with zipfile.ZipFile(os.path.join(DATA, "torch", name + ".pt")) as archive:
            member = next(m for m in archive.namelist() if m.endswith("data.pkl"))
            write("pickle", name, archive.read(member))
    for name in ("values.pkl", "tensors4.pkl", "joblib.pkl"):
        with open(os.path.join(DATA, "old", name), "rb") as file:
            write("pickle", name[:-4], file.read()[:4096])


def headers():
    for name in ("values", "names"):
        with open(os.path.join(DATA, "safetensors", name + ".safetensors"), "rb") as file:
            content = file.read()
        header = content[8:8 + struct.unpack("<Q", content[:8])[0]]
        write("safetensors_header", name, header[:4096])
        write("json", name, header[:4096])
    plain = b'{"__metadata__":{"format":"pt"},"a.weight":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},' \
            b'"b":{"dtype":"BF16","shape":[],"data_offsets":[24,26]}}   '
    write("safetensors_header", "plain", plain)
    index = {"metadata": {"total_size": 26}, "weight_map": {"a.weight": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}
    write("shard_index", "plain", json.dumps(index, indent=2).encode())
    write("shard_index", "short", json.dumps(index, separators=(",", ":")).encode())
    write("json", "numbers", b'[0, -1, 1.5e-300, 18446744073709551615, true, false, null, "\\ud83d\\ude00\\n", {"a": {"b": []}}]')


def streams():
    text = b"the quick brown fox jumps over the lazy dog " * 8
    for level, name in ((0, "stored"), (1, "fixed"), (9, "best")):
        packer = zlib.compressobj(level, zlib.DEFLATED, -15, 8, zlib.Z_FIXED if name == "fixed" else zlib.Z_DEFAULT_STRATEGY)
        write("inflate", name, packer.compress(text) + packer.flush())
    noise = bytes((i * i * 7 + i) % 251 for i in range(600))
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    write("inflate", "dynamic", packer.compress(noise + text) + packer.flush())


def numbers():
    # dtype, then codes; dtype, rank, form, three pairs of (size, stride), offset, then the storage
    codes = bytes(range(0, 256, 3)) + b"\x00\x00\x80\x7f\x00\x00\xc0\x7f\x01\x00\x00\x00"
    for dtype in range(0, 36, 4):
        write("decode", f"dtype{dtype}", bytes([dtype]) + codes)
        write("strides", f"dtype{dtype}", bytes([dtype, 2, 1 + dtype % 8, 3, 1, 4, 3, dtype % 5]) + codes * 3)


def sets():
    """A distributed checkpoint as one input: the metadata's length, it, the data file's first archives"""
    folder = os.path.join(DATA, "dist", "safetensors")
    with open(os.path.join(folder, ".metadata"), "rb") as file:
        metadata = file.read()
    data = sorted(name for name in os.listdir(folder) if not name.startswith("."))[0]
    with open(os.path.join(folder, data), "rb") as file:
        write("torch_dcp", "safetensors", struct.pack("<H", len(metadata)) + metadata + file.read())
    folder = os.path.join(DATA, "dist", "train")
    with open(os.path.join(folder, ".metadata"), "rb") as file:
        metadata = file.read()
    with open(os.path.join(folder, "__0_0.distcp"), "rb") as file:
        write("torch_dcp", "train", struct.pack("<H", len(metadata)) + metadata + file.read()[:8192])


def main():
    pickles()
    headers()
    streams()
    numbers()
    sets()


main()
