#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the small safetensors files of tests/data/safetensors, with the standard library alone.

usage: safetensors_files.py [DIR]    DIR defaults to ../data/safetensors

A file is: u64 little-endian header length, the JSON header padded with spaces to 8, the tensors' bytes."""
import json
import os
import struct
import sys

BITS = {"BOOL": 8, "U8": 8, "I8": 8, "F16": 16, "BF16": 16, "I32": 32, "F32": 32, "I64": 64, "U64": 64, "F64": 64, "C64": 64}
PACK = {"BOOL": "?", "U8": "B", "I8": "b", "F16": "e", "BF16": "H", "I32": "i", "F32": "f", "I64": "q", "U64": "Q", "F64": "d"}


def write(path, tensors, metadata=None):
    """tensors: {name: (dtype, shape, values or None for zeros)}"""
    header, data = {}, b""
    if metadata:
        header["__metadata__"] = metadata
    for name, (dtype, shape, values) in tensors.items():
        n = 1
        for d in shape:
            n *= d
        if values is None:
            payload = bytes(n * BITS[dtype] // 8)
        elif dtype == "C64":
            payload = struct.pack("<%df" % (2 * n), *[part for v in values for part in (v.real, v.imag)])
        else:
            payload = struct.pack("<%d%s" % (n, PACK[dtype]), *values)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(payload)]}
        data += payload
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


def values():
    nan, inf = float("nan"), float("inf")
    return {
        "bools": ("BOOL", [3], [True, False, True]),
        "floats": ("F32", [2, 4], [0.1, -0.0, nan, inf, -inf, 1e-45, 3.4028234663852886e38, 16777216.0]),
        "doubles": ("F64", [3], [0.1, 1e300, 5e-324]),
        "halves": ("F16", [4], [0.1, 65504.0, 6e-8, -2.0]),
        "bfloats": ("BF16", [3], [0x3DCD, 0x7F80, 0xC000]),
        "bytes": ("I8", [2], [-128, 127]),
        "big": ("U64", [2], [18446744073709551615, 0]),
        "small": ("I64", [1], [-9223372036854775808]),
        "complex": ("C64", [2], [1 + 2j, complex(-0.5, nan)]),
        "scalar": ("I32", [], [42]),
        "empty": ("F32", [0, 3], []),
    }


def layers():
    """A transformer of six layers, four experts each, with everything that may be odd about one: layer 0 is dense, layer 5 lacks a
    norm, layer 3 lacks expert 2's w2, layer 2's k_norm is wider."""
    tensors = {"model.embed_tokens.weight": ("BF16", [16, 8], None)}
    for i in (0, 1, 10, 2, 3, 4):  # as a writer that sorts names as text would
        layer = 5 if i == 10 else i
        p = "model.layers.%d." % layer
        for name in "qkvo":
            tensors[p + "self_attn.%s_proj.weight" % name] = ("BF16", [8, 8], None)
        tensors[p + "self_attn.k_norm.weight"] = ("F32", [16 if layer == 2 else 8], None)
        if layer != 5:
            tensors[p + "input_layernorm.weight"] = ("BF16", [8], None)
        if layer == 0:
            tensors[p + "mlp.up_proj.weight"] = ("BF16", [32, 8], None)
            tensors[p + "mlp.down_proj.weight"] = ("BF16", [8, 32], None)
            continue
        tensors[p + "mlp.gate.weight"] = ("BF16", [4, 8], None)
        for expert in range(4):
            for name, shape in (("w1", [16, 8]), ("w2", [8, 16])):
                if (layer, expert, name) != (3, 2, "w2"):
                    tensors[p + "mlp.experts.%d.%s.weight" % (expert, name)] = ("BF16", shape, None)
    tensors["lm_head.weight"] = ("BF16", [16, 8], None)
    return tensors


def names():
    """Names that a terminal, a shell or a JSON reader may trip over."""
    return {
        "": ("U8", [1], [1]),
        "a b": ("U8", [1], [2]),
        "bell\x07\x1b[31mred": ("U8", [1], [3]),
        "層.0.重み": ("U8", [1], [4]),
        "back\\slash": ("U8", [1], [5]),
        "rtl\u202eevil": ("U8", [1], [6]),
        "a..b": ("U8", [1], [7]),
        "." * 40: ("U8", [1], [8]),
    }


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "..", "data", "safetensors")
    os.makedirs(folder, exist_ok=True)
    write(os.path.join(folder, "values.safetensors"), values(), {"format": "pt", "note": "one of each kind"})
    write(os.path.join(folder, "layers.safetensors"), layers())
    write(os.path.join(folder, "names.safetensors"), names())
    whole = os.path.join(folder, "cut.safetensors")
    write(whole, {"first": ("F32", [2], [1.0, 2.0]), "second": ("F32", [4], [3.0, 4.0, 5.0, 6.0])})
    with open(whole, "r+b") as f:
        f.truncate(os.path.getsize(whole) - 4)


if __name__ == "__main__":
    main()
