#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the small broken files of tests/cases/files, named by their fault, with the standard library alone.

usage: bad_files.py [DIR]    DIR defaults to ../cases/files

What each must be answered with is in tests/cases/cases.json."""
import gzip
import io
import json
import os
import struct
import sys
import zipfile


def safetensors(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def entry(begin, end, shape, dtype="F32"):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def text(value):
    value = value.encode()
    return b"X" + struct.pack("<I", len(value)) + value


def integer(value):
    if -(2**31) <= value < 2**31:
        return b"J" + struct.pack("<i", value)
    return b"\x8a\x09" + value.to_bytes(9, "little", signed=True)


def tuple_of(items):
    return b"(" + b"".join(items) + b"t"


def tensor(name, offset, size, stride, count=4, key="0"):
    """The pickle of name: a view of storage `key`, which is said to hold `count` floats."""
    storage = tuple_of([text("storage"), b"ctorch\nFloatStorage\n", text(key), text("cpu"), integer(count)]) + b"Q"
    no_hooks = b"ccollections\nOrderedDict\n)R"
    arguments = [storage, integer(offset), tuple_of(map(integer, size)), tuple_of(map(integer, stride)), b"\x89", no_hooks]
    return text(name) + b"ctorch._utils\n_rebuild_tensor_v2\n" + tuple_of(arguments) + b"R"


def state(*tensors):
    return b"\x80\x02}(" + b"".join(tensors) + b"u."


GOOD = tensor("good", 0, (2, 2), (2, 1))


def torch_zip(pickle, members=(("data/0", bytes(16)), ("version", b"3\n"))):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in (("data.pkl", pickle),) + tuple(members):
            archive.writestr(zipfile.ZipInfo("a/" + name), data)
    return out.getvalue()


def patched(data, offset, value):
    return data[:offset] + value + data[offset + len(value):]


def not_weights():
    return {
        "empty.safetensors": b"",
        "git_lfs_pointer.bin": b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 1234\n",
        "html_page.pt": b"<!DOCTYPE html><html><head><title>Sign in</title></head></html>\n",
        "xml_document.safetensors": b'<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>\n',
        "gzip.pkl": gzip.compress(b"\x80\x02N.", mtime=0),
        "seven_zip.pt": b"7z\xbc\xaf\x27\x1c" + bytes(26),
        "executable.bin": b"\x7fELF\x02\x01\x01" + bytes(57),
    }


def safetensors_faults():
    a = entry(0, 8, [2])
    return {
        "length_cut.safetensors": b"\x08\0\0",
        "header_cut.safetensors": safetensors({"a": a}, bytes(8))[:20],
        "data_cut.safetensors": safetensors({"a": a, "b": entry(8, 16, [2])}, bytes(10)),
        "header_length_2_63.safetensors": struct.pack("<Q", 2**63) + b"{}",
        "header_not_utf8.safetensors": safetensors(b'{"\xff":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}', b"\0"),
        "header_nested.safetensors": safetensors(b'{"a":' + b"[" * 20000),
        "duplicate_name.safetensors": safetensors(b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},'
                                                  b'"\\u0061":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}', bytes(2)),
        "shape_overflow.safetensors": safetensors({"a": entry(0, 8, [2**32, 2**32])}, bytes(8)),
        "shape_negative.safetensors": safetensors({"a": entry(0, 8, [-2])}, bytes(8)),
        "size_mismatch.safetensors": safetensors({"a": entry(0, 8, [3])}, bytes(8)),
        "offsets_reversed.safetensors": safetensors({"a": entry(8, 0, [2])}, bytes(8)),
        "overlap.safetensors": safetensors({"a": a, "b": entry(4, 12, [2])}, bytes(12)),
        "trailing_bytes.safetensors": safetensors({"a": a}, bytes(24)),
    }


def torch_faults():
    good = torch_zip(state(GOOD))
    entry_of_pickle, end = good.find(b"PK\1\2"), good.rfind(b"PK\5\6")
    return {
        "zip_cut.pt": good[:end - 20],
        "zip_directory_past_end.pt": patched(good, end + 16, b"\xff\xff\xff\x7f"),
        "zip_encrypted_pickle.pt": patched(patched(good, entry_of_pickle + 8, b"\1\0"), 6, b"\1\0"),
        "zip_unknown_method.pt": patched(patched(good, entry_of_pickle + 10, b"\x63\0"), 8, b"\x63\0"),
        "zip_without_checkpoint.zip": torch_zip(b"").replace(b"a/data.pkl", b"a/read.txt"),
        "view_past_storage.pt": torch_zip(state(GOOD, tensor("bad", 2, (4,), (1,)))),
        "view_negative_size.pt": torch_zip(state(GOOD, tensor("bad", 0, (-1,), (1,)))),
        "view_huge_stride.pt": torch_zip(state(GOOD, tensor("bad", 0, (2,), (2**62,)))),
        "view_shape_overflow.pt": torch_zip(state(GOOD, tensor("bad", 0, (2**40, 2**40), (0, 0)))),
        "storage_missing.pt": torch_zip(state(GOOD, tensor("bad", 0, (4,), (1,), key="9"))),
        "storage_short.pt": torch_zip(state(GOOD, tensor("bad", 0, (4,), (1,), 8, "1")), (("data/0", bytes(16)), ("data/1", bytes(8)))),
        "byteorder_junk.pt": torch_zip(state(GOOD), (("data/0", bytes(16)), ("byteorder", b"middle"))),
        "pickle_cut.pt": torch_zip(state(GOOD)[:40]),
        "pickle_stack_underflow.pt": torch_zip(b"\x80\x02R."),
        "pickle_string_2_60.pt": torch_zip(b"\x80\x04\x8d" + struct.pack("<Q", 2**60) + b"a."),
        "scan_system.pkl": b"cos\nsystem\n" + tuple_of([text("true")]) + b"R.",
        "scan_unknown.pkl": b"cvendor.module\nThing\n)R.",
        "scan_cut.pkl": b"\x80\x02}(X\xff\0\0\0",
        "scan_laughs.pkl": b"\x80\x02]q\0" + b"".join(b"]q%c(" % i + b"h%c" % (i - 1) * 10 + b"e" for i in range(1, 60)) + b".",
    }


def shard_faults():
    shard = safetensors({"a": entry(0, 8, [2])}, bytes(8))
    index = "model.safetensors.index.json"

    def index_of(weight_map):
        return json.dumps({"weight_map": weight_map}).encode()

    return {
        "shard_missing/" + index: index_of({"a": "one.safetensors", "b": "two.safetensors"}),
        "shard_missing/one.safetensors": shard,
        "shard_wrong/" + index: index_of({"a": "one.safetensors", "b": "one.safetensors"}),
        "shard_wrong/one.safetensors": shard,
        "shard_escapes/" + index: index_of({"a": "../trailing_bytes.safetensors"}),
        "shard_is_index/" + index: index_of({"a": index}),
        "shard_index_nested/" + index: b'{"weight_map":' + b"[" * 20000,
        "shard_broken/" + index: index_of({"a": "one.safetensors", "b": "two.safetensors"}),
        "shard_broken/one.safetensors": shard,
        "shard_broken/two.safetensors": shard[:12],
    }


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "..", "cases", "files")
    for files in (not_weights(), safetensors_faults(), torch_faults(), shard_faults()):
        for name, data in files.items():
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as f:
                f.write(data)


if __name__ == "__main__":
    main()
