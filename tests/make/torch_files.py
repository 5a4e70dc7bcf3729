#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/torch/*.pt with the real torch, and expected.json: what torch itself reads back from each of them.

Needs torch 2.13 and numpy 2: python3 tests/make/torch_files.py
The outputs are committed, so the tests need neither.
"""
import argparse
import collections
import io
import json
import pathlib
import sys
import typing
import warnings
import zipfile

try:
    import numpy as np
    import torch
except ImportError as missing:
    sys.exit(f"skipped: {missing}")

OUT = pathlib.Path(__file__).resolve().parent.parent / "data" / "torch"
NAMES = {
    "bool": "BOOL", "uint8": "U8", "int8": "I8", "int16": "I16", "uint16": "U16", "int32": "I32", "uint32": "U32", "int64": "I64", "uint64": "U64",
    "float16": "F16", "bfloat16": "BF16", "float32": "F32", "float64": "F64", "complex32": "C32", "complex64": "C64", "complex128": "C128",
    "float8_e5m2": "F8_E5M2", "float8_e4m3fn": "F8_E4M3", "float8_e8m0fnu": "F8_E8M0", "float8_e4m3fnuz": "F8_E4M3FNUZ", "float8_e5m2fnuz": "F8_E5M2FNUZ",
    "float4_e2m1fn_x2": "F4", "qint8": "QI8", "quint8": "QU8", "qint32": "QI32",
    "quint4x2": "QU4X2", "quint2x4": "QU2X4", "bits8": "BITS8", "bits16": "BITS16",
}
E2M1 = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
expected = {}


def dtype_name(tensor):
    return NAMES[str(tensor.dtype).removeprefix("torch.")]


def number(value):
    if isinstance(value, complex):
        return number(value.real) + "," + number(value.imag)
    if isinstance(value, bool):
        return str(int(value))
    return value.hex() if isinstance(value, float) else str(value)


def stored_integers(tensor):
    if tensor.dtype not in (torch.quint4x2, torch.quint2x4):
        return tensor.int_repr().flatten().tolist()
    # int_repr() gives packed bytes for these: go back from the values.
    axis = tensor.q_per_channel_axis()
    along = [-1 if i == axis else 1 for i in range(tensor.dim())]
    scales, zeros = tensor.q_per_channel_scales().reshape(along), tensor.q_per_channel_zero_points().reshape(along)
    return (tensor.dequantize() / scales + zeros).round().to(torch.int64).flatten().tolist()


def values_of(tensor):
    """Every element in logical order: integers in decimal, floats in hexadecimal, exact."""
    name = dtype_name(tensor)
    if name == "F4":
        out = []
        for byte in tensor.view(torch.uint8).flatten().tolist():
            for code in (byte & 15, byte >> 4):
                out.append((-E2M1[code & 7] if code & 8 else E2M1[code & 7]))
        return [number(v) for v in out]
    if name.startswith("BITS"):
        return [str(v) for v in tensor.clone().view({1: torch.uint8, 2: torch.int16}[tensor.element_size()]).flatten().tolist()]
    if tensor.is_quantized:
        return [number(v) for v in tensor.dequantize().to(torch.float64).flatten().tolist()] + [str(v) for v in stored_integers(tensor)]
    if name.startswith("C"):
        return [number(v) for v in tensor.resolve_conj().resolve_neg().to(torch.complex128).flatten().tolist()]
    if tensor.is_floating_point():
        return [number(v) for v in tensor.resolve_neg().to(torch.float32 if tensor.element_size() == 1 else torch.float64).to(torch.float64).flatten().tolist()]
    return [number(v) for v in tensor.flatten().tolist()]


def shape_of(tensor):
    shape = list(tensor.shape)
    if dtype_name(tensor) == "F4":
        shape[-1:] = [2 * (shape[-1] if shape else 1)]
    return "x".join(map(str, shape))


def label(key):
    return f"{key.__module__}.{key.__name__}" if isinstance(key, type) else str(key)


def flatten(prefix, value, out):
    """The names a listing gives, written down here a second time on purpose."""
    join = lambda name: f"{prefix}.{name}" if prefix else str(name)
    if isinstance(value, torch.Tensor):
        if type(value) is torch.nn.parameter.UninitializedParameter:
            return
        if type(value).__name__ == "Scaled":
            flatten(join("data"), value.inner, out)
            flatten(join("scale"), value.scale, out)
        elif value.layout == torch.sparse_coo:
            flatten(join("indices"), value._indices(), out)
            flatten(join("values"), value._values(), out)
        elif value.layout in (torch.sparse_csr, torch.sparse_bsr):
            flatten(join("crow_indices"), value.crow_indices(), out)
            flatten(join("col_indices"), value.col_indices(), out)
            flatten(join("values"), value.values(), out)
        elif value.layout in (torch.sparse_csc, torch.sparse_bsc):
            flatten(join("ccol_indices"), value.ccol_indices(), out)
            flatten(join("row_indices"), value.row_indices(), out)
            flatten(join("values"), value.values(), out)
        elif value.is_nested:
            flatten(join("values"), value.values(), out)
            flatten(join("sizes"), value._nested_tensor_size(), out)
            flatten(join("strides"), value._nested_tensor_strides(), out)
            flatten(join("storage_offsets"), value._nested_tensor_storage_offsets(), out)
        else:
            out.append([prefix, dtype_name(value), shape_of(value), " ".join(values_of(value))])
            for name, attribute in getattr(value, "__dict__", {}).items():
                flatten(join(name), attribute, out)
            if value.is_quantized and value.qscheme() in (torch.per_channel_affine, torch.per_channel_affine_float_qparams):
                flatten(join("scales"), value.q_per_channel_scales(), out)
                flatten(join("zero_points"), value.q_per_channel_zero_points(), out)
    elif isinstance(value, torch.nn.Module):
        for name, tensor in list(value._parameters.items()) + list(value._buffers.items()) + list(value._modules.items()):
            flatten(join(name), tensor, out)
    elif isinstance(value, (torch.UntypedStorage, torch.TypedStorage)):
        dtype = torch.uint8 if isinstance(value, torch.UntypedStorage) else value.dtype
        untyped = value if isinstance(value, torch.UntypedStorage) else value._untyped_storage
        out.append([prefix, *(lambda t: [dtype_name(t), shape_of(t), " ".join(values_of(t))])(torch.tensor([], dtype=dtype).set_(untyped))])
    elif isinstance(value, np.ndarray) and value.dtype != object and value.dtype.kind not in "USV":
        flatten(prefix, torch.from_numpy(value.astype(value.dtype.newbyteorder("="), order="C")), out)
    elif isinstance(value, dict):
        for key, item in value.items():
            flatten(join(label(key)), item, out)
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            flatten(join(i), item, out)
    elif isinstance(value, argparse.Namespace):
        flatten(prefix, vars(value), out)


def expect(name, value):
    out = []
    flatten("", value, out)
    expected[name] = out


def save(name, value, loads=True, **options):
    path = OUT / name
    torch.save(value, path, **options)
    expect(name, torch.load(path, weights_only=False) if loads else value)


def rewrite(source, name, change, compression=zipfile.ZIP_STORED):
    """The same archive with its records changed: change(record, bytes) -> bytes."""
    with zipfile.ZipFile(OUT / source) as old, zipfile.ZipFile(OUT / name, "w", compression) as new:
        for info in old.infolist():
            record = info.filename.split("/", 1)[1]
            new.writestr(zipfile.ZipInfo(info.filename), change(record, old.read(info)), compression)
    expected[name] = expected[source]


def all_dtypes():
    hostile = [0.0, -0.0, 1.0, -1.5, 3.14159, 1e-40, 65504.0, 1e30, float("inf"), float("-inf"), float("nan"), 2.0**-24]
    out = {}
    for name in ("float64", "float32", "float16", "bfloat16", "float8_e5m2", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"):
        out[name] = torch.tensor(hostile, dtype=torch.float64).to(torch.float32 if "8_" in name else torch.float64).to(getattr(torch, name))
    for name in ("float8_e5m2", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"):
        out[name + "_codes"] = torch.arange(256, dtype=torch.uint8).view(getattr(torch, name))
    for name, low, high in (("int8", -128, 127), ("int16", -2**15, 2**15 - 1), ("int32", -2**31, 2**31 - 1), ("int64", -2**63, 2**63 - 1), ("uint8", 0, 255),
                            ("uint16", 0, 2**16 - 1), ("uint32", 0, 2**32 - 1), ("uint64", 0, 2**64 - 1)):
        out[name] = torch.tensor([0, 1, low, high, high - 1, 77], dtype=getattr(torch, name))
    out["bool"] = torch.tensor([[True, False], [False, True]])
    for name in ("complex64", "complex128", "complex32"):
        out[name] = torch.tensor([1 + 2j, -0.5j, 3, complex("nan"), complex(0, float("inf"))], dtype=torch.complex64).to(getattr(torch, name))
    out["float4"] = torch.arange(256, dtype=torch.uint8).reshape(4, 64).view(torch.float4_e2m1fn_x2)
    out["bits8"] = torch.arange(5, dtype=torch.uint8).view(torch.bits8)
    out["bits16"] = torch.arange(300, 305, dtype=torch.int16).view(torch.bits16)
    return out


def views():
    base = torch.arange(24, dtype=torch.float32)
    conv = torch.arange(24, dtype=torch.float32).reshape(1, 2, 3, 4).to(memory_format=torch.channels_last)
    matrix = base.reshape(4, 6)
    return {
        "base": base, "transposed": matrix.t(), "step": base[3:20:5], "rows": matrix[1:3], "column": matrix[:, 2], "expanded": base[5:6].expand(3, 4),
        "permuted": base.reshape(2, 3, 4).permute(2, 0, 1), "diagonal": matrix[:, :4].diagonal(), "channels_last": conv, "overlapping": base.unfold(0, 4, 2),
        "tied": base, "as_bytes": torch.arange(6, dtype=torch.int64)[2:4],
    }


def nested():
    t = lambda *v: torch.tensor(v, dtype=torch.float32)
    shared = [t(9.0), {"deep": t(8.0)}]
    return {
        "list": [t(1.0), [t(2.0), (t(3.0), None)]], "tuple": (t(4.0), 5, "text"), 7: t(7.0), None: t(0.5), (1, 2): t(1.5), 2.5: t(2.5), True: t(6.0),
        torch.nn.Linear: t(10.0), "dotted.name": t(11.0), "": t(12.0), "ünï": t(13.0), "ordered": collections.OrderedDict(a=t(14.0), b={"c": t(15.0)}),
        "shared_a": shared, "shared_b": shared, "default": collections.defaultdict(list, x=[t(16.0)]), "space": argparse.Namespace(lr=0.01, w=t(17.0)),
        "numbers": [1, 2, 3], "long": list(range(625)), "big": 2**70, "complex": 1 + 2j, "size": torch.Size([2, 3]), "dtype": torch.float16,
        "device": torch.device("cuda", 1), "bytes": b"\x80\xff", "set": {1}, "nothing": None, "flag": True, "path": pathlib.PurePosixPath("/a/b"),
    }


class Scaled(torch.Tensor):
    @staticmethod
    def __new__(cls, inner, scale):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=torch.float32)

    def __init__(self, inner, scale):
        self.inner, self.scale = inner, scale

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        raise NotImplementedError

    def __reduce_ex__(self, protocol):
        state = {"data": self.inner, "scale": self.scale}
        args = (Scaled, torch.float32, (3,), (1,), 0, torch.strided, torch.device("cpu"), False)
        return torch._tensor._rebuild_from_type_v2, (torch._utils._rebuild_wrapper_subclass, Scaled, args, state)


def special():
    with_attribute = torch.ones(2)
    with_attribute.note = torch.tensor([5, 6])
    parameter = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
    marked = torch.nn.Parameter(torch.tensor([3.0]), requires_grad=False)
    marked.tag = "kept"
    return {"attribute": with_attribute, "parameter": parameter, "marked": marked, "lazy": torch.nn.parameter.UninitializedParameter(),
            "coo": torch.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse(), "csr": torch.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse_csr()}


def quantized():
    return {"tensor": torch.quantize_per_tensor(torch.tensor([1.0, 2.0, -1.0, 0.0]), 0.5, 2, torch.qint8),
            "unsigned": torch.quantize_per_tensor(torch.tensor([1.0, 2.0]), 0.25, 10, torch.quint8),
            "wide": torch.quantize_per_tensor(torch.tensor([1.0, -2.0]), 0.001, 0, torch.qint32),
            "channels": torch.quantize_per_channel(torch.arange(6.0).reshape(2, 3), torch.tensor([0.5, 0.25], dtype=torch.float64),
                                                   torch.tensor([0, 3]), 0, torch.qint8),
            "channels_last_axis": torch.quantize_per_channel(torch.linspace(-3, 3, 24).reshape(2, 3, 4), torch.tensor([0.1, 0.7, 0.013], dtype=torch.float64),
                                                             torch.tensor([10, 0, 255]), 1, torch.quint8),
            "transposed": torch.quantize_per_tensor(torch.linspace(-1, 1, 6).reshape(2, 3), 0.1, 1, torch.qint8).t(),
            "odd_scale": torch.quantize_per_tensor(torch.linspace(-900, 1000, 40), 1 / 3, -1, torch.qint32),
            "float_parameters": torch.quantize_per_channel(torch.linspace(-3, 3, 8).reshape(2, 4), torch.tensor([0.1, 0.3]), torch.tensor([2.5, 100.25]), 0,
                                                           torch.quint8),
            "four_bits": torch.quantize_per_channel(torch.arange(15.0).reshape(3, 5), torch.tensor([0.5, 0.25, 1.0]), torch.tensor([0.0, 1.5, 2.0]), 0,
                                                    torch.quint4x2),
            "two_bits": torch.quantize_per_channel(torch.arange(10.0).reshape(2, 5), torch.tensor([0.5, 2.0]), torch.tensor([0.0, 1.0]), 0, torch.quint2x4),
            "empty": torch.quantize_per_tensor(torch.empty(0, 3), 0.5, 0, torch.qint8), "plain_zero": torch.zeros(2, dtype=torch.int8)}


def numpy_values():
    return {"best": np.float64(1.5), "count": np.int32(-7), "flag": np.bool_(True), "half": np.float16(0.5), "name": np.str_("é"),
            "fortran": np.arange(6, dtype=np.int16).reshape(2, 3).T, "plain": np.arange(6, dtype=np.float32).reshape(2, 3), "big": np.array([1, 2, 300], dtype=">i4"),
            "bytes": np.array([0, 127, 128, 255], dtype=np.uint8), "empty": np.zeros((0, 3)), "objects": np.array([1, "x"], dtype=object),
            "complex": np.array([1 + 2j]), "texts": np.array(["ab", "c"])}


def train():
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    model(torch.ones(4, 3)).sum().backward()
    optimizer.step()
    return {"epoch": 3, "lr": 0.01, "model": model.state_dict(), "optimizer": optimizer.state_dict(), "args": argparse.Namespace(name="run", steps=100)}


def old_objects():
    """Hand-made pickles of forms that only old versions wrote: BUILD of tensors, Variables, Python 2's OrderedDict."""
    def op_global(module, name):
        return f"c{module}\n{name}\n".encode()

    def text(s):
        return b"X" + len(s).to_bytes(4, "little") + s.encode()

    def pid(key, numel):
        return b"(" + text("storage") + op_global("torch", "FloatStorage") + text(key) + text("cpu") + b"K" + bytes([numel]) + b"tQ"

    v1 = op_global("torch._utils", "_rebuild_tensor") + b"(" + pid("0", 4) + b"K\x00K\x02K\x02\x86K\x02K\x01\x86tR"
    built = op_global("torch", "FloatTensor") + b")\x81(" + pid("0", 4) + b"K\x01K\x03\x85K\x01\x85tb"
    variable = op_global("torch.autograd.variable", "Variable") + v1 + b"\x85R(\x89\x89Ntb"
    parameter5 = op_global("torch.nn.parameter", "Parameter") + b")\x81(" + v1 + b"N}\x88\x89tb"
    no_hooks = op_global("torch._utils", "_rebuild_tensor_v2") + b"(" + pid("0", 4) + b"K\x02]K\x02a]K\x01a\x89NtR"
    pairs = b"".join(b"]" + text(k) + b"a" + v + b"aa" for k, v in (("v1", v1), ("built", built), ("variable", variable), ("parameter", parameter5), ("lists", no_hooks)))
    data = b"\x80\x02" + op_global("collections", "OrderedDict") + b"]" + pairs + b"\x85R."
    with zipfile.ZipFile(OUT / "old_forms.pt", "w") as archive:
        archive.writestr(zipfile.ZipInfo("archive/data.pkl"), data)
        archive.writestr(zipfile.ZipInfo("archive/data/0"), np.array([1, 2, 3, 4], dtype="<f4").tobytes())
        archive.writestr(zipfile.ZipInfo("archive/version"), "3\n")
    base = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    expect("old_forms.pt", {"v1": base, "built": base.flatten()[1:], "variable": base, "parameter": base, "lists": base.flatten()[2:]})


def script():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.net = torch.nn.Sequential(torch.nn.Linear(2, 1))
            self.register_buffer("codes", torch.tensor([1, 2], dtype=torch.uint16))
            self.sizes = [1, 2, 3]

        def forward(self, x):
            return self.net(x)

    torch.manual_seed(2)
    net = Net()
    path = OUT / "script.pt"
    torch.jit.script(net).save(str(path))
    loaded = torch.jit.load(str(path))
    expect("script.pt", {"codes": loaded.codes, **{k: v for k, v in loaded.state_dict().items() if k != "codes"}})


def frozen():
    """A module whose weights became constants: what is left of their names is a number."""
    torch.manual_seed(3)
    net = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU(), torch.nn.Linear(2, 1)).eval()
    path = OUT / "frozen.pt"
    torch.jit.freeze(torch.jit.script(net)).save(str(path))
    constants = torch.jit.load(str(path)).code_with_constants[1].const_mapping
    expect("frozen.pt", {"constants": {name.removeprefix("c"): value for name, value in constants.items()}})


class Exported(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(3, 2)
        self.tied = self.fc.weight
        self.register_buffer("codes", torch.arange(4, dtype=torch.int16))
        self.register_buffer("turned", torch.arange(6.0).reshape(2, 3).t())
        self.register_buffer("loose", torch.tensor([7.0]), persistent=False)
        self.short = torch.nn.Parameter(torch.tensor([0.5, -1.0], dtype=torch.bfloat16))

    def forward(self, x):
        return torch.nn.functional.linear(x, self.tied) + self.fc(x) + self.codes.sum() + self.turned.sum() + self.loose + self.short


def exported():
    torch.manual_seed(4)
    program = torch.export.export(Exported().eval(), (torch.ones(1, 3),))
    torch.export.save(program, OUT / "exported.pt2")
    loaded = torch.export.load(OUT / "exported.pt2")
    value = {**loaded.state_dict, "constants": {k: v for k, v in loaded.constants.items() if isinstance(v, torch.Tensor)}}
    expect("exported.pt2", value)
    # The form of torch 2.6 and earlier, in both of the ways that Python's zipfile may have packed it.
    for name, compression in (("exported_2_6.pt2", zipfile.ZIP_STORED), ("exported_2_6_deflated.pt2", zipfile.ZIP_DEFLATED)):
        with zipfile.ZipFile(OUT / name, "w", compression) as archive:
            put = lambda record, data: archive.writestr(zipfile.ZipInfo(record), data, compression)
            put("serialized_exported_program.json", "{}")
            for record, part in (("serialized_state_dict.pt", dict(loaded.state_dict)), ("serialized_constants.pt", value["constants"])):
                buffer = io.BytesIO()
                torch.save(part, buffer)
                put(record, buffer.getvalue())
            put("version", "7.3")
        expected[name] = expected["exported.pt2"]


def package():
    from torch.package import PackageExporter, PackageImporter
    torch.manual_seed(5)
    shared = torch.arange(4.0)
    torch.package.package_exporter._gate_torchscript_serialization = False
    script = torch.jit.script(torch.nn.Linear(2, 1))
    one = {"a": shared, "b": {"c": torch.ones(2, 2, dtype=torch.float16)}}
    with PackageExporter(str(OUT / "package.pt")) as exporter:
        exporter.save_pickle("model", "net.pkl", one)
        exporter.save_text("model", "note.txt", "hello")
    expect("package.pt", PackageImporter(str(OUT / "package.pt")).load_pickle("model", "net.pkl"))
    with PackageExporter(str(OUT / "packages.pt")) as exporter:
        exporter.save_pickle("model", "net.pkl", one)
        exporter.save_pickle("model.sub", "other.pkl", [shared[1:3]])
        exporter.save_pickle("model", "script.pkl", script)
    expect("packages.pt", {"model": {"net": one, "sub": {"other": [shared[1:3]]}}, "ts_code": [script.state_dict()]})


def sparse():
    dense = torch.tensor([[0.0, 2.0, 0.0, 0.0], [3.0, 0.0, 0.0, 4.0]])
    return {"coo": dense.to_sparse(), "csr": dense.to_sparse_csr(), "csc": dense.to_sparse_csc(), "bsr": dense.to_sparse_bsr((1, 2)),
            "bsc": dense.to_sparse_bsc((2, 1)), "nested": torch.nested.nested_tensor([torch.ones(2, 3), torch.zeros(1, 3)])}


def script_special():
    """The C++ pickler's own forms: sparse tuples, typed lists and dicts, quantised tensors."""
    class Net(torch.nn.Module):
        names: typing.Dict[str, torch.Tensor]
        several: typing.List[torch.Tensor]

        def __init__(self):
            super().__init__()
            self.coo = torch.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse()
            self.names = {"x": torch.tensor([1.0]), "y": torch.tensor([2], dtype=torch.int64)}
            self.several = [torch.tensor([3.0]), torch.tensor([4.0, 5.0])]
            self.quantised = torch.quantize_per_tensor(torch.tensor([1.0, -2.0]), 0.5, 3, torch.qint8)
            self.channels = torch.quantize_per_channel(torch.ones(2, 2), torch.tensor([0.5, 0.25], dtype=torch.float64), torch.tensor([0, 1]), 0, torch.quint8)
            self.eight = torch.tensor([1.0, -0.5]).to(torch.float8_e4m3fn)

        def forward(self, x):
            return x + self.several[0]

    net = Net()
    torch.jit.script(net).save(str(OUT / "script_special.pt"))
    expect("script_special.pt", {"coo": net.coo, "names": net.names, "several": net.several, "quantised": net.quantised, "channels": net.channels,
                                 "eight": net.eight})


def swap(record, data):
    if record == "byteorder":
        return b"big"
    units = {"data/0": 4, "data/1": 8, "data/2": 2, "data/3": 4}
    if record not in units:
        return data
    n = units[record]
    return b"".join(data[i:i + n][::-1] for i in range(0, len(data), n))


def main():
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    OUT.mkdir(parents=True, exist_ok=True)
    save("dtypes.pt", all_dtypes())
    save("views.pt", views())
    save("nested.pt", nested())
    save("special.pt", special())
    save("quantized.pt", quantized())
    save("numpy.pt", numpy_values())
    save("numpy_protocol5.pt", numpy_values(), pickle_protocol=5)
    save("train.pt", train())
    save("module.pt", torch.nn.Sequential(collections.OrderedDict(fc=torch.nn.Linear(3, 2), norm=torch.nn.BatchNorm1d(2), act=torch.nn.ReLU())))
    save("empties.pt", {"scalar": torch.tensor(2.5), "empty": torch.empty(0), "none_in_the_middle": torch.empty(2, 0, 5), "one": torch.ones(1, 1, 1)})
    conj = torch.tensor([1 + 2j, 3 - 4j], dtype=torch.complex64)
    save("conj_neg.pt", {"conj": conj.conj(), "neg": conj.clone().conj().imag, "plain": conj})
    save("storages.pt", {"untyped": torch.arange(4, dtype=torch.uint8).untyped_storage(), "typed": torch.arange(3.0).storage()})
    save("root.v1.2 x.pt", {"w": torch.ones(2)})
    save("tensor.pt", torch.arange(3.0))
    save("list.pt", [torch.ones(1), torch.zeros(2)])
    many = torch.arange(1100, dtype=torch.int16)
    save("many.pt", {f"layers.{i}.w": many[i:i + 1] for i in range(1100)})
    for protocol in range(6):
        value = {"w": torch.arange(6.0).reshape(2, 3), "n": 300, "l": [1.5, "é", None, True, (1, 2)], "b": b"xy"}
        save(f"protocol{protocol}.pt", value, loads=protocol > 0, pickle_protocol=protocol)
    wrapped = {"w": Scaled(torch.tensor([1, 2, 3], dtype=torch.int8), torch.tensor(0.5)), "p": torch.ones(1)}
    save("wrapper.pt", wrapped, loads=False)
    buffer = io.BytesIO()
    torch.save({"w": torch.tensor([1.0, 2.0]), "l": torch.tensor([1, 2]), "u": torch.tensor([1, 300], dtype=torch.uint16),
                "c": torch.tensor([1 + 2j], dtype=torch.complex64)}, buffer)
    (OUT / "buffer.pt").write_bytes(buffer.getvalue())
    expect("buffer.pt", torch.load(OUT / "buffer.pt"))
    rewrite("buffer.pt", "big_endian.pt", swap)
    rewrite("views.pt", "deflated.pt", lambda record, data: data, zipfile.ZIP_DEFLATED)
    rewrite("numpy.pt", "numpy_deflated.pt", lambda record, data: data, zipfile.ZIP_DEFLATED)
    old_objects()
    script()
    script_special()
    frozen()
    exported()
    package()
    save("sparse.pt", sparse())
    quoted = lambda value: json.dumps(value, ensure_ascii=False)
    text = ",\n".join(quoted(name) + ": [\n  " + ",\n  ".join(quoted(row) for row in rows) + "]" for name, rows in sorted(expected.items()))
    (OUT / "expected.json").write_text("{\n" + text + "\n}\n")
    print(f"{len(expected)} files, {sum(p.stat().st_size for p in OUT.iterdir())} bytes")


if __name__ == "__main__":
    main()
