#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/numbers/: tensors of every kind by the real writers (torch.save, safetensors), and expected.json, their statistics as numpy
computes them in double precision. Needs torch 2.13 or newer, numpy, safetensors."""
import json
import os

import numpy
import torch
from safetensors.torch import save_file

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "numbers")
SHARES = [0.001, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 0.999]
NARROW = {torch.bfloat16, torch.float16, torch.float8_e4m3fn, torch.float8_e5m2, torch.int8, torch.uint8, torch.int16, torch.bool}


def tensors():
    random = torch.Generator().manual_seed(5)
    normal = lambda *shape: torch.randn(*shape, generator=random, dtype=torch.float64)
    weights, norms = 0.02 * normal(37, 113), 1 + 1e-3 * normal(4001)
    hostile = 0.02 * normal(3001)
    hostile[::50] = 0
    hostile[7], hostile[8], hostile[9], hostile[3000] = float("nan"), float("inf"), -float("inf"), -float("inf")
    hostile[11], hostile[12] = 1e-7, -5e-7
    found = {}
    for name, dtype in (("f64", torch.float64), ("f32", torch.float32), ("f16", torch.float16), ("bf16", torch.bfloat16)):
        found["weights." + name] = weights.to(dtype)
        found["norms." + name] = norms.to(dtype)
        found["hostile." + name] = hostile.to(dtype)
        found["far." + name] = (1000 + normal(2500)).to(dtype)
    found["subnormal.f32"] = (1e-39 * normal(1000)).to(torch.float32)
    found["subnormal.bf16"] = torch.cat([(1e-39 * normal(1000)), 0.02 * normal(5000)]).to(torch.bfloat16)
    found["huge.f32"] = (1e38 * normal(999)).clamp(-3e38, 3e38).to(torch.float32)
    found["e4m3"] = (3 * normal(2000)).to(torch.float8_e4m3fn)
    found["e5m2"] = (3 * normal(2000)).to(torch.float8_e5m2)
    found["i8"] = torch.randint(-128, 128, (1999,), generator=random, dtype=torch.int8)
    found["u8"] = torch.randint(0, 256, (50, 41), generator=random, dtype=torch.uint8)
    found["i16"] = torch.randint(-32768, 32768, (1500,), generator=random, dtype=torch.int16)
    found["i32"] = torch.randint(-2**31, 2**31 - 1, (1500,), generator=random, dtype=torch.int32)
    found["i64"] = torch.randint(-2**52, 2**52, (1500,), generator=random, dtype=torch.int64)
    found["bool"] = torch.rand(777, generator=random) < 0.25
    found["constant"] = torch.full((300,), 0.1, dtype=torch.float32)
    found["scalar"] = torch.tensor(-2.5, dtype=torch.bfloat16)
    return found


def numpy_of(tensor):
    return (tensor if tensor.dtype == torch.bool else tensor.detach().to(torch.float64)).contiguous().numpy().astype(numpy.float64).ravel()


def expected(tensor):
    x = numpy_of(tensor)
    finite = x[numpy.isfinite(x)]
    floats = tensor.dtype.is_floating_point
    least_normal = torch.finfo(tensor.dtype).smallest_normal if floats else 0
    row = {"measured": x.size, "zeros": int((x == 0).sum()), "near_zeros": int((numpy.abs(x) < 1e-6).sum()), "nan": int(numpy.isnan(x).sum()),
           "pos_inf": int((x == numpy.inf).sum()), "neg_inf": int((x == -numpy.inf).sum()),
           "subnormal": int(((x != 0) & (numpy.abs(x) < least_normal)).sum())}
    centred = finite - finite.mean()
    m2 = (centred**2).mean()
    row.update(min=finite.min(), max=finite.max(), absmax=numpy.abs(finite).max(), mean=finite.mean(), std=finite.std(), l2=float(numpy.linalg.norm(finite)))
    if finite.min() != finite.max():
        unit = centred / numpy.sqrt(m2)
        row.update(skew=(unit**3).mean(), kurtosis=(unit**4).mean() - 3)
    row["quantiles"] = {str(p): float(numpy.quantile(finite, p, method="inverted_cdf")) for p in SHARES}
    if tensor.dtype in NARROW:
        width = {1: torch.uint8, 2: torch.int16}[tensor.element_size()]
        row["distinct"] = int(numpy.unique(tensor.contiguous().view(width).numpy()).size)
    return {key: value if isinstance(value, (int, dict)) else float(value) for key, value in row.items()}


def main():
    os.makedirs(HERE, exist_ok=True)
    plain = tensors()
    save_file(plain, os.path.join(HERE, "plain.safetensors"))
    views = {}
    base = plain["weights.f32"]
    for dtype in (torch.float32, torch.bfloat16, torch.float64):
        name, whole = str(dtype).split(".")[1], base.to(dtype)
        views["transposed." + name] = whole.t()
        views["slice." + name] = whole[3:30:2, 5:100]
        views["column." + name] = whole[:, 7]
        views["expanded." + name] = whole[0].expand(9, 113)
    views["negated"] = torch.view_as_complex(torch.stack([base[:, :50], base[:, 50:100]], dim=-1).contiguous()).conj().imag
    torch.save(views, os.path.join(HERE, "views.pt"))
    with open(os.path.join(HERE, "expected.json"), "w", encoding="utf-8") as file:
        json.dump({"plain.safetensors": {name: expected(tensor) for name, tensor in plain.items()},
                   "views.pt": {name: expected(tensor) for name, tensor in views.items()}}, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
