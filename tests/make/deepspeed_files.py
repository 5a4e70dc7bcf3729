#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/deepspeed/: ZeRO checkpoints of stages 1 to 3, in the layout of DeepSpeed's own folders, by torch.save.

    <run>/latest                                                  the tag, "global_step4"
    <run>/<tag>/mp_rank_00_model_states.pt                        stages 1 and 2: module, param_shapes, buffer_names, shared_params, …
    <run>/<tag>/zero_pp_rank_<r>_mp_rank_00_model_states.pt       stage 3: one a rank, the weights of the module empty
    <run>/<tag>/[bf16_]zero_pp_rank_<r>_mp_rank_00_optim_states.pt   one a rank: its part of the flat fp32 groups

expected.json holds the fp32 tensors, put together here a second time by the published rules: of stages 1 and 2 the ranks' parts of a group
are one vector, cut in the order of param_shapes, padded at its end to a multiple of 2 * ranks; of stage 3 every parameter is dealt out to
the ranks in pieces of ceil(n / ranks), the last one padded, and a rank's pieces follow each other through its groups.
Needs torch 2.13: python3 tests/make/deepspeed_files.py
"""
import collections
import json
import math
import pathlib
import shutil
import sys

try:
    import torch
except ImportError as missing:
    sys.exit(f"skipped: {missing}")

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import torch_files

OUT = pathlib.Path(__file__).resolve().parent.parent / "data" / "deepspeed"
TAG = "global_step4"
expected = {}


def parameters():
    """Two groups (with and without weight decay), shapes that no number of ranks divides, a scalar."""
    torch.manual_seed(5)
    return [collections.OrderedDict([("embed.weight", torch.randn(7, 3)), ("layers.0.fc.weight", torch.randn(5, 3)), ("layers.1.fc.weight", torch.randn(3, 5))]),
            collections.OrderedDict([("layers.0.fc.bias", torch.randn(5)), ("scale", torch.randn(())), ("layers.1.fc.bias", torch.randn(3))])]


FROZEN = collections.OrderedDict([("frozen.weight", torch.arange(11, dtype=torch.bfloat16).reshape(11))])
BUFFERS = collections.OrderedDict([("layers.0.running_mean", torch.arange(4, dtype=torch.float16) / 2), ("steps", torch.tensor(9))])
SHARED = {"head.weight": "embed.weight"}


def common(groups, module, frozen):
    return {
        "module": module, "buffer_names": list(BUFFERS), "optimizer": None,
        "param_shapes": [collections.OrderedDict((n, t.shape) for n, t in g.items()) for g in groups],
        "frozen_param_shapes": collections.OrderedDict((n, t.shape) for n, t in FROZEN.items()), "frozen_param_fragments": frozen, "shared_params": SHARED,
        "lr_scheduler": None, "data_sampler": None, "random_ltd": None, "sparse_tensor_module_names": set(), "skipped_steps": 0, "global_steps": 4,
        "global_samples": 16, "dp_world_size": 2, "mp_world_size": 1, "ds_config": {"train_batch_size": 4, "zero_optimization": {"stage": 2}},
        "ds_version": "0.16.2",
    }


def optimizer_state(stage, world, parts):
    key = "fp32_flat_groups" if stage == 3 else "single_partition_of_fp32_groups"
    state = {"loss_scaler": None, "dynamic_loss_scale": False, "overflow": False, "zero_stage": stage, "partition_count": world if stage == 3 else [world] * len(parts),
             "ds_version": "0.16.2", "ds_config": {"zero_optimization": {"stage": stage}}, key: parts}
    inner = {"state": {i: {"step": torch.tensor(4.0), "exp_avg": torch.zeros_like(p), "exp_avg_sq": torch.ones_like(p)} for i, p in enumerate(parts)},
             "param_groups": [{"lr": 0.001, "params": [i]} for i in range(len(parts))]}
    state["optimizer_state_dict" if stage == 3 else "base_optimizer_state"] = inner
    return {"optimizer_state_dict": state, "ds_config": state["ds_config"], "ds_version": "0.16.2"}


def padded(flat, multiple):
    return torch.cat([flat, torch.zeros(-flat.numel() % multiple)])


def rebuild(stage, world, ranks, shapes):
    """From the parts alone, as the published conversion does it."""
    out = {}
    if stage < 3:
        for g, group in enumerate(shapes):
            whole, at = torch.cat([rank[g] for rank in ranks]), 0
            for name, shape in group.items():
                out[name] = whole.narrow(0, at, shape.numel()).view(shape)
                at += shape.numel()
            align = 2 * world
            assert align * math.ceil(at / align) == align * math.ceil(whole.numel() / align)
    else:
        flats, at = [torch.cat(rank) for rank in ranks], 0
        for group in shapes:
            for name, shape in group.items():
                piece = math.ceil(shape.numel() / world)
                out[name] = torch.cat([flat.narrow(0, at, piece) for flat in flats]).narrow(0, 0, shape.numel()).view(shape)
                at += piece
        assert at * world == sum(flat.numel() for flat in flats)
    return out


def split_stage_2(groups, world):
    """[rank][group]"""
    wholes = [padded(torch.cat([t.flatten() for t in g.values()]), 2 * world) for g in groups]
    return [[whole.chunk(world)[rank].clone() for whole in wholes] for rank in range(world)]


def split_stage_3(groups, world):
    ranks = []
    for rank in range(world):
        flats = []
        for g in groups:
            flats.append(torch.cat([padded(t.flatten(), world).chunk(world)[rank] for t in g.values()]))
        ranks.append(flats)
    return ranks


def write(name, stage, world, prefix=""):
    folder = OUT / name / TAG
    folder.mkdir(parents=True)
    (OUT / name / "latest").write_text(TAG)
    groups = parameters()
    shapes = [collections.OrderedDict((n, t.shape) for n, t in g.items()) for g in groups]
    ranks = split_stage_3(groups, world) if stage == 3 else split_stage_2(groups, world)
    for rank, parts in enumerate(ranks):
        torch.save(optimizer_state(stage, world, parts), folder / f"{prefix}zero_pp_rank_{rank}_mp_rank_00_optim_states.pt")
    whole = collections.OrderedDict((n, t.to(torch.bfloat16)) for g in groups for n, t in g.items()) | FROZEN | BUFFERS
    if stage == 3:
        empty = collections.OrderedDict((n, t if n in BUFFERS else torch.empty(0, dtype=t.dtype)) for n, t in whole.items())
        for rank in range(world):
            pieces = {n: torch.cat([t, t.new_zeros(-t.numel() % world)]).chunk(world)[rank].clone() for n, t in FROZEN.items()}
            torch.save(common(groups, empty, pieces), folder / f"zero_pp_rank_{rank}_mp_rank_00_model_states.pt")
    else:
        torch.save(common(groups, whole, dict(FROZEN)), folder / "mp_rank_00_model_states.pt")
    out = rebuild(stage, world, ranks, shapes)
    for g in groups:
        for n, t in g.items():
            torch.testing.assert_close(out[n], t, rtol=0, atol=0)
    tensors = []
    for n, t in (dict(BUFFERS) | dict(FROZEN) | out | {"head.weight": out["embed.weight"]}).items():
        torch_files.flatten(n, t, tensors)
    expected[name] = tensors


def main():
    shutil.rmtree(OUT, ignore_errors=True)
    write("stage1", 1, 2)
    write("stage2", 2, 3, "bf16_")
    write("stage3", 3, 2)
    write("stage3_of_4", 3, 4, "bf16_")
    quoted = lambda value: json.dumps(value, ensure_ascii=False)
    text = ",\n".join(quoted(name) + ": [\n  " + ",\n  ".join(quoted(row) for row in rows) + "]" for name, rows in sorted(expected.items()))
    (OUT / "expected.json").write_text("{\n" + text + "\n}\n")


if __name__ == "__main__":
    main()
