# SPDX-License-Identifier: Apache-2.0
"""Writes what the benchmarks read: checkpoints of any size whose data are holes, so that they cost no disk. Standard library only."""
import json
import os
import struct
import zlib


def names(count):
    """`count` tensor names as a large mixture of experts has them."""
    parts = ["mlp.experts.%d.%s_proj.weight" % (e, p) for e in range(384) for p in ("gate", "up", "down")]
    return ["model.layers.%d.%s" % (i // len(parts), parts[i % len(parts)]) for i in range(count)]


def safetensors(path, tensor_names, elements):
    """Tensors of `elements` BF16 each, shape [elements / 64, 64]. Returns the header's bytes."""
    header, offset, size = {}, 0, 2 * elements
    for name in tensor_names:
        header[name] = {"dtype": "BF16", "shape": [elements // 64, 64], "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + offset)
        file.seek(-1, os.SEEK_END)
        file.write(b"\1")  # what ends in zeros looks like a download that stopped, and is looked at more closely
    return text


def shard_set(folder, count, shards):
    """A sharded set with its index; returns the index's path and size."""
    os.makedirs(folder, exist_ok=True)
    all_names, weight_map = names(count), {}
    for i in range(shards):
        shard = "model-%05d-of-%05d.safetensors" % (i + 1, shards)
        own = all_names[i * count // shards:(i + 1) * count // shards]
        safetensors(os.path.join(folder, shard), own, 4096)
        weight_map.update(dict.fromkeys(own, shard))
    path = os.path.join(folder, "model.safetensors.index.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"metadata": {"total_size": count * 8192}, "weight_map": weight_map}, file, indent=2)
    return path, os.path.getsize(path)


def _text(value):
    data = value.encode()
    return b"X" + struct.pack("<I", len(data)) + data


def _integer(value):
    return b"K" + bytes([value]) if value < 256 else b"M" + struct.pack("<H", value) if value < 65536 else b"J" + struct.pack("<i", value)


def _state_dict(tensor_names, elements):
    """data.pkl of {name: a Float tensor [elements / 64, 64] of its own storage}, as torch writes it, without the memo."""
    shape = _integer(elements // 64) + _integer(64) + b"\x86"
    out = [b"\x80\x02}("]
    for key, name in enumerate(tensor_names):
        storage = b"(" + _text("storage") + b"ctorch\nFloatStorage\n" + _text(str(key)) + _text("cpu") + _integer(elements) + b"tQ"
        out.append(_text(name) + b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + b"K\x00" + shape + _integer(64) + b"K\x01\x86" +
                   b"\x89ccollections\nOrderedDict\n)RtR")
    return b"".join(out) + b"u."


def torch_zip(path, tensor_names, elements):
    """A torch checkpoint of F32 tensors. Stored members, data aligned to 64, descriptors behind; the data's CRCs are left 0, as torch can be told to."""
    members = [("model/data.pkl", _state_dict(tensor_names, elements), None)]
    members += [("model/data/%d" % i, None, 4 * elements) for i in range(len(tensor_names))]
    members.append(("model/version", b"3\n", None))
    directory = []
    with open(path, "wb") as file:
        for name, data, hole in members:
            name, size, start = name.encode(), hole if data is None else len(data), file.tell()
            crc = 0 if data is None else zlib.crc32(data)
            pad = -(start + 30 + len(name) + 4) % 64
            extra = struct.pack("<HH", 0x4246, pad) + b"Z" * pad
            file.write(struct.pack("<IHHHHHIIIHH", 0x04034B50, 0, 0x808, 0, 0, 0, 0, 0, 0, len(name), len(extra)) + name + extra)
            if data is None:
                file.truncate(file.tell() + size)
                file.seek(0, os.SEEK_END)
            else:
                file.write(data)
            file.write(struct.pack("<IIII", 0x08074B50, crc, size, size))
            large = struct.pack("<HHQ", 1, 8, start) if start >= 0xFFFFFFFF else b""
            directory.append(struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 0, 0, 0x808, 0, 0, 0, crc, size, size, len(name), len(large), 0, 0, 0, 0,
                                         0xFFFFFFFF if large else start) + name + large)
        begin, body, count = file.tell(), b"".join(directory), len(directory)
        file.write(body)
        end = file.tell()
        file.write(struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, count, count, len(body), begin))
        file.write(struct.pack("<IIQI", 0x07064B50, 0, end, 1))
        file.write(struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, min(count, 0xFFFF), min(count, 0xFFFF), len(body), min(begin, 0xFFFFFFFF), 0))
