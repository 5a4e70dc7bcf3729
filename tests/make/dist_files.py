#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/dist/: distributed checkpoints, by several real ranks of torch.distributed.checkpoint over gloo, each in a folder of its own.

expected.json holds what torch itself reads back. Needs torch 2.13: python3 tests/make/dist_files.py
The outputs are committed, so the tests need no torch. The DeepSpeed folders are written by deepspeed_files.py.
"""
import json
import os
import pathlib
import shutil
import sys
import tempfile
import warnings

try:
    import torch
    import torch.distributed as dist
    import torch.distributed.checkpoint as dcp
    import torch.multiprocessing
    from torch.distributed.checkpoint.filesystem import SerializationFormat
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor
except ImportError as missing:
    sys.exit(f"skipped: {missing}")

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import torch_files

OUT = pathlib.Path(__file__).resolve().parent.parent / "data" / "dist"
expected = {}


def expect(name, value):
    out = []
    torch_files.flatten("", value, out)
    expected[name] = out


def numbers(*shape, dtype=torch.float32):
    n = 1
    for size in shape:
        n *= size
    return (torch.arange(n, dtype=torch.float64) / 8 - 3).reshape(shape).to(dtype)


def train_state():
    """As a trainer saves it on one rank: nested, values between the tensors, a view, empty and scalar tensors."""
    return {
        "model": {"w": numbers(3, 4), "b": numbers(3, dtype=torch.bfloat16), "turned": numbers(2, 3).t(), "part": numbers(10)[3:5],
                  "scalar": torch.tensor(7, dtype=torch.int64), "empty": torch.zeros(0, 4), "half": numbers(5, dtype=torch.float16)},
        "optim": {"state": {"0": {"exp_avg": numbers(3, 4) * 2, "step": torch.tensor(3.0)}}, "param_groups": [{"lr": 0.1, "betas": (0.9, 0.999)}]},
        "rng": {"state": torch.arange(16, dtype=torch.uint8)},
        "epoch": 3, "name": "run", "list": [torch.ones(2), 5],
    }


def full_state():
    """Sharded every way a mesh of 2 x 2 gives; rows and columns that do not divide evenly."""
    return {"rows": numbers(10, 3), "columns": numbers(3, 10), "grid": numbers(5, 7), "both": numbers(8, 2, dtype=torch.bfloat16), "same": numbers(4),
            "few": numbers(3, 2), "cube": numbers(2, 5, 3), "plain": numbers(2, 2), "bytes": torch.arange(9, dtype=torch.uint8)}


PLACEMENTS = {"rows": [Replicate(), Shard(0)], "columns": [Replicate(), Shard(1)], "grid": [Shard(0), Shard(1)], "both": [Shard(0), Shard(0)],
              "same": [Replicate(), Replicate()], "few": [Shard(0), Shard(0)], "cube": [Shard(2), Shard(1)], "bytes": [Shard(0), Replicate()]}


def sharded(rank, size, port, folder, writer):
    warnings.simplefilter("ignore")
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank), WORLD_SIZE=str(size))
    dist.init_process_group("gloo", rank=rank, world_size=size)
    mesh = init_device_mesh("cpu", (2, 2))
    state = {name: distribute_tensor(tensor, mesh, PLACEMENTS[name]) if name in PLACEMENTS else tensor for name, tensor in full_state().items()}
    state["step"] = 12
    storage = None
    if writer == "huggingface":
        from torch.distributed.checkpoint import HuggingFaceStorageWriter
        del state["step"]
        storage = HuggingFaceStorageWriter(folder, save_distributed=True)
    elif writer == "safetensors":
        del state["step"]
        storage = dcp.FileSystemWriter(folder, serialization_format=SerializationFormat.SAFETENSORS)
    dcp.save(state, storage_writer=storage, checkpoint_id=None if storage else folder, use_collectives=writer != "alone")
    dist.destroy_process_group()


def save_sharded(name, writer, port):
    torch.multiprocessing.spawn(sharded, (4, port, str(OUT / name), writer), nprocs=4)
    expect(name, full_state())


def load(name, state):
    """What torch reads: into tensors of other values."""
    for key, value in state.items():
        if isinstance(value, torch.Tensor):
            value.zero_()
        elif isinstance(value, (dict, list)):
            load(None, value if isinstance(value, dict) else dict(enumerate(value)))
    if name:
        dcp.load(state, checkpoint_id=str(OUT / name), no_dist=True)
    return state


def dtypes_state():
    """Every dtype that has a chunk; pairs of 4-bit values are one element to torch."""
    codes = torch.arange(24, dtype=torch.uint8)
    state = {name: codes.view(getattr(torch, name)) for name in ("float8_e5m2", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu", "int8")}
    state |= {name: (codes % 100).view(getattr(torch, name)) for name in ("uint16", "int16", "uint32", "int32", "uint64", "int64")}
    state |= {name: numbers(3, dtype=getattr(torch, name)) for name in ("float64", "complex64", "complex128")}
    state |= {"bool": codes % 3 == 0, "pairs": codes.reshape(4, 6).view(torch.float4_e2m1fn_x2), "pair": codes[9].view(torch.float4_e2m1fn_x2)}
    return state


def main():
    warnings.simplefilter("ignore")
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    dcp.save(train_state(), checkpoint_id=str(OUT / "train"), no_dist=True)
    state = train_state()
    state["model"]["turned"] = state["model"]["turned"].contiguous()
    read = load("train", state)
    torch.testing.assert_close(read["model"], train_state()["model"], rtol=0, atol=0)
    expect("train", read)
    dcp.save(dtypes_state(), checkpoint_id=str(OUT / "dtypes"), no_dist=True)
    expect("dtypes", dtypes_state())
    save_sharded("sharded", "torch", 29511)
    save_sharded("safetensors", "safetensors", 29512)
    save_sharded("huggingface", "huggingface", 29513)
    save_sharded("each_rank", "alone", 29514)
    read = {name: torch.zeros_like(tensor) for name, tensor in full_state().items()}
    dcp.load(read, checkpoint_id=str(OUT / "sharded"), no_dist=True)
    torch.testing.assert_close(read, full_state(), rtol=0, atol=0)
    flat = {name: numbers(3, 4) + i for i, name in enumerate(("a", "b.c"))}
    dcp.save(flat, storage_writer=dcp.FileSystemWriter(str(OUT / "one_safetensors"), serialization_format=SerializationFormat.SAFETENSORS), no_dist=True)
    expect("one_safetensors", flat)
    quoted = lambda value: json.dumps(value, ensure_ascii=False)
    text = ",\n".join(quoted(name) + ": [\n  " + ",\n  ".join(quoted(row) for row in rows) + "]" for name, rows in sorted(expected.items()))
    (OUT / "expected.json").write_text("{\n" + text + "\n}\n")


if __name__ == "__main__":
    main()
