#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Has the real torch read what write_torch_zip wrote: ASSAY_WRITTEN_TORCH_ZIP=x.pt formats_tests && check_written.py x.pt"""
import sys
import zipfile

import torch

path = sys.argv[1]
with zipfile.ZipFile(path) as archive:
    assert archive.testzip() is None, "a CRC is wrong"
for mmap in (False, True):
    state = torch.load(path, weights_only=True, mmap=mmap)
    assert len(state) == 1226, len(state)
    assert state["tied_a"].data_ptr() == state["tied_b"].data_ptr()
    assert state["scalar"].shape == () and state["empty"].shape == (3, 0)
    for name, tensor in state.items():
        if not name.startswith("type."):
            continue
        size = tensor.element_size()
        count = tensor.numel() * size
        expected = [i % 2 if i < 8 else i * 7 % 119 for i in range(count)]
        shape = (2, 1, 1, 2) if "float4" in str(tensor.dtype) else (2, 1, 1, 4)
        assert tuple(tensor.shape) == shape and tensor.is_contiguous(), name
        assert bytes(tensor.untyped_storage())[:count] == bytes(expected), name
    assert [state[f"many.{i}"].item() for i in (0, 999, 1000, 1199)] == [0, (999 % 256) * 7 % 119, (1000 % 256) * 7 % 119, (1199 % 256) * 7 % 119]
print("torch", torch.__version__, "reads it")
