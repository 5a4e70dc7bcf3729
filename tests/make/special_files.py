#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/special/ with the real torch: what stands around tensors less often. Nested, sparse, distributed and quantised tensors,
wrappers within wrappers, optimizers after some steps, mobile modules, compiled packages.

expected.json holds what torch itself reads back, under the names a listing gives. Needs torch 2.13: python3 tests/make/special_files.py
The outputs are committed, so the tests need no torch.
"""
import collections
import dataclasses
import enum
import json
import os
import pathlib
import sys
import tempfile
import warnings
import zipfile

try:
    import torch
    import torch.distributed as dist
    import torch.utils.serialization
except ImportError as missing:
    sys.exit(f"skipped: {missing}")

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import torch_files

OUT = pathlib.Path(__file__).resolve().parent.parent / "data" / "special"
DENSE = torch.tensor([[0.0, 2.0, 0.0, 0.0], [3.0, 0.0, 0.0, 4.0]])
expected = {}


def expect(name, tensors):
    """{listed name: tensor, or whatever torch_files.flatten takes apart}"""
    out = []
    for listed, value in tensors.items():
        torch_files.flatten(listed, value, out)
    expected[name] = out


def save(name, value, **options):
    torch.save(value, OUT / name, **options)
    return torch.load(OUT / name, weights_only=False)


def jagged():
    a = torch.nested.nested_tensor([torch.arange(3.0), torch.arange(5.0)], layout=torch.jagged)
    b = torch.nested.nested_tensor_from_jagged(torch.arange(12.0).reshape(6, 2), torch.tensor([0, 2, 6]))
    c = torch.nested.nested_tensor_from_jagged(torch.arange(12.0).reshape(6, 2), torch.tensor([0, 2, 4]), lengths=torch.tensor([1, 2]))
    read = save("jagged.pt", {"a": a, "b": b, "c": c})
    out = {}
    for name, t in read.items():
        out[f"{name}.values"], out[f"{name}.offsets"] = t._values, t._offsets
        if t._lengths is not None:
            out[f"{name}.lengths"] = t._lengths
    expect("jagged.pt", out)


def sparse():
    hybrid = torch.sparse_coo_tensor(torch.tensor([[0, 1, 1]]), torch.arange(9.0).reshape(3, 3), (2, 3))
    value = {"hybrid": hybrid, "batched": torch.stack([DENSE, DENSE * 2]).to_sparse_csr(), "empty": torch.zeros(2, 3).to_sparse(),
             "parameter": torch.nn.Parameter(DENSE.to_sparse()), "bool": (DENSE != 0).to_sparse(), "half": DENSE.half().to_sparse_bsr((2, 2)),
             "complex": (DENSE * (1 + 2j)).to_sparse_csc(), "wide": DENSE.to_sparse_bsc((1, 2))}
    expect("sparse_more.pt", save("sparse_more.pt", value))
    expect("sparse_legacy.pt", save("sparse_legacy.pt", value, _use_new_zipfile_serialization=False))


class ScriptNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("csr", DENSE.to_sparse_csr())
        self.register_buffer("coo", DENSE.to_sparse())
        self.register_buffer("channels", torch.quantize_per_channel(torch.linspace(-3, 3, 8).reshape(2, 4), torch.tensor([0.1, 0.3]), torch.tensor([2.5, 100.25]), 0,
                                                                    torch.quint8))
        self.register_buffer("four", torch.quantize_per_channel(torch.arange(15.0).reshape(3, 5), torch.tensor([0.5, 0.25, 1.0]), torch.tensor([0.0, 1.5, 2.0]), 0,
                                                                torch.quint4x2))
        self.register_buffer("conj", torch.tensor([1 + 2j, 3 - 4j]).conj())
        self.register_buffer("neg", torch.tensor([1 + 2j, 3 - 4j]).conj().imag)
        self.register_buffer("flags", torch.tensor([True, False]))
        self.register_buffer("turned", torch.arange(6.0).reshape(2, 3).t())

    def forward(self, x):
        return x


def script():
    net = ScriptNet()
    torch.jit.script(net).save(str(OUT / "script_more.pt"))
    expect("script_more.pt", dict(net.named_buffers()))
    traced = torch.jit.trace(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2)).eval(), torch.ones(1, 2))
    traced.save(str(OUT / "traced.pt"), _extra_files={"note.txt": "hello"})
    expect("traced.pt", dict(torch.jit.load(str(OUT / "traced.pt")).state_dict()))
    optimised = torch.jit.optimize_for_inference(torch.jit.script(torch.nn.Linear(3, 2).eval()))
    optimised.save(str(OUT / "for_inference.pt"))
    constants = torch.jit.load(str(OUT / "for_inference.pt")).code_with_constants[1].const_mapping
    expect("for_inference.pt", {f"constants.{name.removeprefix('c')}": value for name, value in constants.items()})
    (OUT / "cpp_pickle.pt").write_bytes(torch._C._pickle_save({"a": torch.arange(3.0), "b": torch.tensor([1, 2])}))
    expect("cpp_pickle.pt", {"a": torch.arange(3.0), "b": torch.tensor([1, 2])})


def quantised_modules():
    torch.manual_seed(6)
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU(), torch.nn.Linear(3, 2))
    quantised = torch.ao.quantization.quantize_dynamic(model, {torch.nn.Linear}, dtype=torch.qint8)
    packed = {i: quantised[i]._packed_params._packed_params for i in (0, 2)}
    weights = {(i, k): part for i in packed for k, part in enumerate(torch.ops.quantized.linear_unpack(packed[i]))}
    save("quantised_module.pt", quantised)
    expect("quantised_module.pt", {f"{i}._packed_params._packed_params.{k}": part for (i, k), part in weights.items()})
    torch.jit.script(quantised).save(str(OUT / "quantised_script.pt"))
    expect("quantised_script.pt", {f"{i}._packed_params._packed_params.{k}": part for (i, k), part in weights.items()})
    expect("quantised_state.pt", {name: value for name, value in save("quantised_state.pt", quantised.state_dict()).items() if not isinstance(value, torch.dtype)})


def packed_modules():
    """Modules that pickle themselves as tuples; the names are those of their state dicts. Scales are numbers here and tensors there."""
    import torch.ao.nn.quantized as quantised
    torch.manual_seed(11)
    net = torch.nn.Sequential(torch.nn.Conv2d(2, 3, 2), torch.nn.ReLU(), torch.nn.Conv2d(3, 2, 1), torch.nn.Flatten(), torch.nn.Linear(2, 2)).eval()
    net = torch.ao.quantization.fuse_modules(net, [["0", "1"]])
    net.qconfig = torch.ao.quantization.get_default_qconfig("x86")
    prepared = torch.ao.quantization.prepare(net)
    prepared(torch.randn(1, 2, 2, 2))
    value = {"net": torch.ao.quantization.convert(prepared), "bag": quantised.EmbeddingBag(3, 4), "transposed": quantised.ConvTranspose2d(1, 2, 2)}
    torch.save(value, OUT / "packed_modules.pt")
    expect("packed_modules.pt", {f"{name}.{key}": tensor for name, module in value.items() for key, tensor in module.state_dict().items()
                                 if not isinstance(tensor, torch.dtype) and not key.endswith(("scale", "zero_point"))})


def distributed():
    from torch.distributed._shard import sharded_tensor
    from torch.distributed._shard.sharding_spec import ChunkShardingSpec
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor
    with tempfile.NamedTemporaryFile() as store:
        dist.init_process_group("gloo", init_method=f"file://{store.name}", rank=0, world_size=1)
        mesh = init_device_mesh("cpu", (1,))
        value = {"w": distribute_tensor(torch.arange(6.0).reshape(2, 3), mesh, [Shard(0)]),
                 "p": torch.nn.Parameter(distribute_tensor(torch.arange(4.0), mesh, [Replicate()]))}
        listed = {}
        for name, tensor in value.items():
            listed[f"{name}._local_tensor"] = tensor.to_local().detach()
            listed[f"{name}._spec.mesh._rank_map"] = torch.tensor([0], dtype=torch.int32)
        for file, zipped in (("dtensor.pt", True), ("dtensor_legacy.pt", False)):
            save(file, value, _use_new_zipfile_serialization=zipped)
            expect(file, listed)
        sharded = sharded_tensor.rand(ChunkShardingSpec(dim=0, placements=["rank:0/cpu"]), 4, 3)
        save("sharded_tensor.pt", {"st": sharded})
        expect("sharded_tensor.pt", {"st.0.0.tensor": sharded.local_shards()[0].tensor})
        dist.destroy_process_group()


class Order(enum.Enum):
    ROWS = 1


@dataclasses.dataclass
class Settings:
    block: int
    name: str


class Packed(torch.Tensor):
    """As torchao's classes: data, scale and settings in the state, perhaps another wrapper within."""
    @staticmethod
    def __new__(cls, state):
        return torch.Tensor._make_wrapper_subclass(cls, (2, 3), dtype=torch.bfloat16)

    def __init__(self, state):
        self.kept = state

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        raise NotImplementedError

    def __reduce_ex__(self, protocol):
        args = (Packed, torch.bfloat16, (2, 3), (3, 1), 0, torch.strided, torch.device("cpu"), False)
        return torch._tensor._rebuild_from_type_v2, (torch._utils._rebuild_wrapper_subclass, Packed, args, self.kept)


def wrappers():
    inner = Packed({"qdata": torch.tensor([[1, 2, 3]], dtype=torch.int8), "scale": torch.tensor([0.5])})
    outer = Packed({"tensor_impl": inner, "zero_point": torch.tensor([3], dtype=torch.int32), "block_size": (1, 3), "order": Order.ROWS,
                    "settings": Settings(3, "x"), "dtype": torch.int8, "nothing": None})
    slots = Packed((None, {"layout_tensor": torch.ones(2, dtype=torch.uint8)}))
    torch.save({"inner": inner, "outer": outer, "slots": slots}, OUT / "wrappers.pt")
    expect("wrappers.pt", {"inner.qdata": inner.kept["qdata"], "inner.scale": inner.kept["scale"], "outer.tensor_impl.qdata": inner.kept["qdata"],
                           "outer.tensor_impl.scale": inner.kept["scale"], "outer.zero_point": outer.kept["zero_point"],
                           "slots.layout_tensor": torch.ones(2, dtype=torch.uint8)})


def optimizers():
    torch.manual_seed(7)
    makers = {"sgd": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9), "adam": lambda p: torch.optim.Adam(p, lr=0.1, amsgrad=True),
              "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.1, centered=True), "adagrad": torch.optim.Adagrad, "adafactor": torch.optim.Adafactor,
              "lbfgs": lambda p: torch.optim.LBFGS(p, max_iter=2)}
    states = {}
    for name, make in makers.items():
        net = torch.nn.Linear(3, 2)
        optimizer = make(net.parameters())

        def closure():
            optimizer.zero_grad()
            loss = net(torch.ones(2, 3)).pow(2).sum()
            loss.backward()
            return loss
        for _ in range(3):
            optimizer.step(closure)
        states[name] = optimizer.state_dict()
    schedule = torch.optim.lr_scheduler.OneCycleLR(torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9), max_lr=0.1, total_steps=10)
    value = {"optimizers": states, "schedule": schedule.state_dict(), "rng": torch.get_rng_state()[:64], "scaler": torch.amp.GradScaler("cpu").state_dict(),
             "averaged": torch.optim.swa_utils.AveragedModel(torch.nn.Linear(2, 1)).state_dict()}
    expect("optimizers.pt", save("optimizers.pt", value))
    expect("optimizers_legacy.pt", save("optimizers_legacy.pt", value, _use_new_zipfile_serialization=False))


def optimizer_objects():
    """Optimizers pickled whole: their state is keyed by the parameters, which state_dict() numbers. The first parameter never had a gradient."""
    torch.manual_seed(10)
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
    groups = [{"params": list(net[0].parameters())}, {"params": list(net[1].parameters()), "lr": 0.5}]
    net[0].weight.requires_grad_(False)
    optimizer = torch.optim.Adam(groups, lr=0.1)
    net(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    value = {"optimizer": optimizer, "schedule": torch.optim.lr_scheduler.StepLR(optimizer, 1), "plain": {torch.tensor([1.0]): torch.tensor([2.0])}}
    named = {f"state.{i}.{key}": tensor for i, part in optimizer.state_dict()["state"].items() for key, tensor in part.items()}
    named |= {f"param_groups.{g}.params.{i}": tensor for g, group in enumerate(optimizer.param_groups) for i, tensor in enumerate(group["params"])}
    listed = {f"{front}.{name}": tensor for front in ("optimizer", "schedule.optimizer") for name, tensor in named.items()}
    for file, zipped in (("optimizer_objects.pt", True), ("optimizer_objects_legacy.pt", False)):
        torch.save(value, OUT / file, _use_new_zipfile_serialization=zipped)
        expect(file, {**listed, "plain.0": torch.tensor([2.0]), "plain.0.key": torch.tensor([1.0])})


def modules():
    torch.manual_seed(8)
    value = {"lstm": torch.nn.LSTM(2, 3), "encoder": torch.nn.TransformerEncoderLayer(2, 1, 3), "bag": torch.nn.EmbeddingBag(3, 2, mode="sum"),
             "weight_norm": torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 2)).state_dict()}
    read = save("modules.pt", value)
    expect("modules.pt", {f"{name}.{key}": tensor for name, part in read.items() for key, tensor in (part if name == "weight_norm" else part.state_dict()).items()})
    traced = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU()))
    expect("traced_module.pt", dict(save("traced_module.pt", traced).state_dict()))


def odd_archives():
    value = {"a": torch.arange(3.0), "b": torch.ones(2, 2, dtype=torch.int8)}
    with torch.serialization.skip_data():
        torch.save(value, OUT / "skipped_data.pt")
    expect("skipped_data.pt", {"a": torch.zeros(3), "b": torch.zeros(2, 2, dtype=torch.int8)})
    torch.serialization.set_crc32_options(False)
    expect("no_crc.pt", save("no_crc.pt", value))
    torch.serialization.set_crc32_options(True)
    torch.utils.serialization.config.save.storage_alignment = 256
    expect("aligned_256.pt", save("aligned_256.pt", value))
    torch.utils.serialization.config.save.storage_alignment = 64


class MobileNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(3, 2)
        self.bn = torch.nn.BatchNorm1d(2)
        self.big = torch.nn.Parameter(torch.arange(12.0).reshape(3, 4))
        self.register_buffer("view", self.big.detach().t())
        self.register_buffer("halves", torch.arange(3, dtype=torch.float16))
        self.register_buffer("quantised", torch.quantize_per_tensor(torch.tensor([1.0, 2.0, -1.0]), 0.5, 2, torch.qint8))
        self.scale, self.names, self.flag, self.n, self.sizes = 2.5, ["a", "b"], True, 7, [1, 2, 3]

    def forward(self, x):
        return self.bn(self.fc(x)) * self.scale


def mobile():
    torch.manual_seed(9)
    net = MobileNet().eval()
    for name, flat in (("mobile.ptl", True), ("mobile_zip.ptl", False)):
        torch.jit.script(net)._save_for_lite_interpreter(str(OUT / name), _use_flatbuffer=flat)
        expect(name, dict(net.state_dict()))


def compiled():
    from torch.export.pt2_archive._package import package_pt2
    from torch.export.pt2_archive._package_weights import TensorProperties, Weights
    base = torch.arange(12.0).reshape(3, 4)
    tensors = {"a": base, "b": base[1:], "c": torch.ones(2, dtype=torch.float16), "t": base.t()}
    with tempfile.TemporaryDirectory() as folder:
        code = pathlib.Path(folder) / "model.so"
        code.write_bytes(b"\x7fELF, but no code")
        package_pt2(str(OUT / "compiled.pt2"), aoti_files={"model": [str(code), Weights({n: (t, TensorProperties(t)) for n, t in tensors.items()})]})
    expect("compiled.pt2", tensors)


def model_json():
    """The form of torch 1.0 to 1.3, by hand: no torch that can be installed writes it."""
    tensor = lambda dims, strides, offset, dtype, key, **more: {"dims": [str(d) for d in dims], "strides": [str(s) for s in strides], "offset": str(offset),
                                                                "requiresGrad": True, "dataType": dtype, "data": {"key": key}, "device": "cpu", **more}
    described = {
        "protoVersion": "5", "producerName": "pytorch", "producerVersion": "1.0",
        "mainModule": {
            "torchscriptArena": {"key": "code/net.py"}, "name": "Net",
            "submodules": [{"torchscriptArena": {"key": "code/fc.py"}, "submodules": [{"name": "inner", "parameters": [{"isBuffer": True, "tensorId": "3", "name": "mask"}]}],
                            "parameters": [{"isBuffer": False, "tensorId": "0", "name": "weight"}, {"isBuffer": False, "tensorId": "1", "name": "bias"}], "name": "fc"}],
            "parameters": [{"tensorId": "2", "name": "turned"}],
            "attributes": [{"type": "int", "name": "steps", "id": "0"}, {"type": "Tensor", "name": "kept", "id": "1"}, {"type": "Tensor", "name": "none", "id": "-1"}]},
        "tensors": [tensor([2, 3], [3, 1], 0, "FLOAT", "tensors/0"), tensor([2], [1], 6, "FLOAT", "tensors/0"), tensor([3, 2], [1, 3], 0, "FLOAT", "tensors/0"),
                    tensor([4], [1], 0, "BOOL", "tensors/1"), tensor([2], [1], 0, "INT64", "tensors/2"),
                    tensor([3], [1], 0, "INT8", "tensors/3", isQuantized=True, scale=0.5, zeroPoint="2")]}
    described["mainModule"]["parameters"].append({"tensorId": "5", "name": "quantised", "isBuffer": True})
    attributes = b"\x80\x02(K\x07c__main__\nTensorID\nK\x04\x85Rt."
    floats = torch.arange(8.0)
    with zipfile.ZipFile(OUT / "model_json.pt", "w") as archive:
        put = lambda record, data: archive.writestr(zipfile.ZipInfo("net/" + record), data)
        put("version", "1\n")
        put("code/net.py", "op_version_set = 0\n")
        put("tensors/0", floats.numpy().tobytes())
        put("tensors/1", bytes([1, 0, 0, 1]))
        put("tensors/2", torch.tensor([5, -6]).numpy().tobytes())
        put("tensors/3", torch.tensor([4, 0, 2], dtype=torch.int8).numpy().tobytes())
        put("attributes.pkl", attributes)
        put("model.json", json.dumps(described))
    quantised = torch._make_per_tensor_quantized_tensor(torch.tensor([4, 0, 2], dtype=torch.int8), 0.5, 2)
    expect("model_json.pt", {"fc.weight": floats[:6].reshape(2, 3), "fc.bias": floats[6:], "turned": floats[:6].reshape(2, 3).t(),
                             "fc.inner.mask": torch.tensor([True, False, False, True]), "kept": torch.tensor([5, -6]), "quantised": quantised})


def main():
    warnings.simplefilter("ignore")
    OUT.mkdir(parents=True, exist_ok=True)
    for old in OUT.iterdir():
        old.unlink()
    for write in (jagged, sparse, script, quantised_modules, packed_modules, distributed, wrappers, optimizers, optimizer_objects, modules, odd_archives, mobile, compiled, model_json):
        write()
    quoted = lambda value: json.dumps(value, ensure_ascii=False)
    text = ",\n".join(quoted(name) + ": [\n  " + ",\n  ".join(quoted(row) for row in rows) + "]" for name, rows in sorted(expected.items()))
    (OUT / "expected.json").write_text("{\n" + text + "\n}\n")
    print(f"{len(expected)} files, {sum(p.stat().st_size for p in OUT.iterdir())} bytes")


if __name__ == "__main__":
    main()
