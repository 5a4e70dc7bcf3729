#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small checkpoint for every family's way of naming and stacking experts, with the configuration it has beside it, and for what looks
like experts and is none: what `assay moe` must find in each.

usage: moe_families_test.py PROGRAM"""
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))
H, I, E = 8, 12, 6  # hidden size, width of an expert, experts
SIZES = {"F32": 4, "BF16": 2, "F16": 2, "U8": 1, "F8_E4M3": 1, "I32": 4, "U32": 4, "I64": 8}
RANDOM = random.Random(7)


def t(*shape, dtype="F32"):
    return dtype, shape


def bytes_of(dtype, shape):
    n = 1
    for size in shape:
        n *= size
    if dtype == "F32":
        return struct.pack("<%df" % n, *(RANDOM.gauss(0, 0.1) for _ in range(n)))
    if dtype == "F8_E4M3":
        return bytes(RANDOM.randrange(0x60) for _ in range(n))
    return RANDOM.randbytes(n * SIZES[dtype])


def write(path, tensors):
    header, data = {}, b""
    for name, (dtype, shape) in tensors.items():
        piece = bytes_of(dtype, shape)
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [len(data), len(data) + len(piece)]}
        data += piece
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


UP, DOWN = (I, H), (H, I)
PROJ = {"gate_proj.weight": UP, "up_proj.weight": UP, "down_proj.weight": DOWN}
W123 = {"w1.weight": UP, "w3.weight": UP, "w2.weight": DOWN}
FC = {"fc1.weight": UP, "fc1.bias": (I,), "fc2.weight": DOWN, "fc2.bias": (H,)}


def module(base, parts, **kind):
    return {base + name: t(*shape, **kind) for name, shape in parts.items()}


def experts(base, parts, n=E, **kind):
    """`base` has # for the expert's number."""
    made = {}
    for e in range(n):
        made.update(module(base.replace("#", str(e)), parts, **kind))
    return made


def each(block, parts, router="gate.weight", **more):
    """A family with a tensor per expert below block.experts."""
    def layer(n):
        at = block.replace("@", str(n)) + "."
        made = {at + router: t(E, H), **experts(at + "experts.#.", parts)}
        for name, shape in more.get("beside", {}).items():
            made[at + name] = t(*shape)
        for name, parts_of in more.get("shared", {}).items():
            made.update(module(at + name + ".", parts_of))
        return made
    return layer


def tensors(parts):
    return lambda n: {name.replace("@", str(n)): value if isinstance(value[0], str) else t(*value) for name, value in parts.items()}


def packed(block, parts):
    """Experts of hidden size 64 whose projections are several tensors each."""
    def layer(n):
        at = block.replace("@", str(n)) + "."
        made = {at + "gate.weight": t(E, 64)}
        for e in range(E):
            for p in ("gate_proj", "up_proj", "down_proj"):
                made.update({"%sexperts.%d.%s.%s" % (at, e, p, name): t(*shape, dtype=dtype) for name, (dtype, shape) in parts.items()})
        return made
    return layer


def says(count="num_experts", top="num_experts_per_tok", **more):
    return {count: E, top: 2, **more}


MIXTRAL, MLP = "model.layers.@.block_sparse_moe", "model.layers.@.mlp"
SHARED = {"shared_experts": PROJ}
LOCAL = says("num_local_experts")
ROUTED = says("n_routed_experts")
# name: (layer of a number, config.json or None, what to expect beyond the usual)
FAMILIES = {
    "mixtral": (each(MIXTRAL, W123), LOCAL, {}),
    "grok2": (lambda n: {**each(MIXTRAL, W123)(n), **module("model.layers.%d.mlp." % n, PROJ)}, LOCAL, {}),
    "minimax-m2": (each(MIXTRAL, W123, beside={"e_score_correction_bias": (E,)}), LOCAL, {}),
    "arctic": (lambda n: {**each(MIXTRAL, W123)(n), **module("model.layers.%d.residual_mlp." % n, W123)}, LOCAL, {"shared": True}),
    "mixtral-native": (each("layers.@.feed_forward", W123), None, {}),
    "mistral-large-3": (each("layers.@", W123, shared={"shared_experts": W123}), None, {"shared": True}),
    "mistral-params": (each("layers.@", W123), ("params.json", {"moe": {"num_experts": E, "num_experts_per_tok": 2}}), {}),
    "qwen2-moe": (each(MLP, PROJ, beside={"shared_expert_gate.weight": (1, H)}, shared={"shared_expert": PROJ}), says(), {"shared": True}),
    "qwen3-moe": (each(MLP, PROJ), says(), {}),
    "deepseek-v3": (lambda n: module("model.layers.0.mlp.", PROJ) if n == 0 else each(MLP, PROJ, beside={"gate.e_score_correction_bias": (E,)}, shared=SHARED)(n),
                    says("n_routed_experts", first_k_dense_replace=1, num_hidden_layers=3), {"of": 3, "layers": 2, "shared": True}),
    "deepseek-mtp": (lambda n: {**each(MLP, PROJ)(n), **({"model.layers.2.eh_proj.weight": t(H, 2 * H)} if n == 2 else {})},
                     says("n_routed_experts", num_hidden_layers=2), {"of": 3, "layers": 3, "extra": 1}),
    "deepseek-native": (each("layers.@.ffn", W123, beside={"gate.bias": (E,)}, shared={"shared_experts": W123}), says("n_routed_experts", "n_activated_experts"),
                        {"shared": True}),
    "deepseek-fp8": (lambda n: {"model.layers.%d.mlp.gate.weight" % n: t(E, H), **experts("model.layers.%d.mlp.experts.#." % n, PROJ, dtype="F8_E4M3"),
                                **experts("model.layers.%d.mlp.experts.#." % n, {p + "_scale_inv": (1, 1) for p in PROJ})}, ROUTED, {}),
    "longcat": (lambda n: {"model.layers.%d.mlp.router.classifier.weight" % n: t(E + 2, H), **experts("model.layers.%d.mlp.experts.#." % n, PROJ)},
                says("n_routed_experts", "moe_topk", zero_expert_num=2), {}),
    "kimi-linear": (each(MIXTRAL, W123, beside={"gate.e_score_correction_bias": (E,)}, shared=SHARED), says(top="num_experts_per_token"), {"shared": True}),
    "jamba": (lambda n: each("model.layers.@.feed_forward", PROJ, router="router.weight")(n) if n % 2 else module("model.layers.%d.feed_forward." % n, PROJ),
              says(), {"of": 4}),
    "lfm2": (each("model.layers.@.feed_forward", W123, beside={"expert_bias": (E,)}), says(), {}),
    "ernie": (each(MLP, PROJ, beside={"moe_statics.e_score_correction_bias": (1, E)}, shared=SHARED), says("moe_num_experts", "moe_k"), {"shared": True}),
    "ernie-vl": (lambda n: {**each(MLP, PROJ)(n), "model.layers.%d.mlp.gate.weight" % n: t(4, H), "model.layers.%d.mlp.gate.weight_1" % n: t(2, H)},
                 {"moe_num_experts": [4, 2], "moe_k": 2}, {}),
    "hunyuan": (each(MLP, PROJ, router="gate.wg.weight", shared={"shared_mlp": PROJ}), {"num_experts": E, "moe_topk": [2, 2]}, {"shared": True}),
    "bailing": (each(MLP, PROJ, beside={"gate.expert_bias": (E,)}, shared=SHARED), says(), {"shared": True}),
    "afmoe": (each(MLP, PROJ, router="router.gate.weight", beside={"expert_bias": (E,)}, shared=SHARED), says(), {"shared": True}),
    "nemotron-h": (each("backbone.layers.@.mixer", {"up_proj.weight": UP, "down_proj.weight": DOWN}, shared=SHARED), ROUTED, {"shared": True}),
    "smallthinker": (each(MIXTRAL, {"up.weight": UP, "gate.weight": UP, "down.weight": DOWN}, router="primary_router.weight"),
                     says("moe_num_primary_experts", "moe_num_active_primary_experts"), {}),
    "grove": (lambda n: {**each(MLP, PROJ)(n), **experts("model.layers.%d.mlp.chunk_experts.#." % n, PROJ, 3)}, says(), {"shared": True}),
    "switch": (lambda n: {"encoder.block.%d.layer.1.mlp.router.classifier.weight" % n: t(E, H),
                          **experts("encoder.block.%d.layer.1.mlp.experts.expert_#." % n, {"wi.weight": UP, "wo.weight": DOWN})},
               {"num_experts": E, "model_type": "switch_transformers"}, {"top_k": 1}),
    "nllb": (lambda n: {"model.encoder.layers.%d.ffn.router.classifier.weight" % n: t(E, H), **experts("model.encoder.layers.%d.ffn.experts.expert_#." % n, FC)},
             {"num_experts": E, "model_type": "nllb-moe"}, {"top_k": 2}),
    "fairseq": (each("encoder.layers.@.moe_layer", FC, router="gate.wg.weight"), None, {}),
    "phixtral": (lambda n: {"transformer.h.%d.moe.gate.weight" % n: t(E, H), **experts("transformer.h.%d.moe.mlp.#." % n, FC)}, LOCAL, {}),
    "grok1": (lambda n: {"transformer.decoder_layer.%d.router.weight" % n: t(E, H),
                         **experts("transformer.decoder_layer.%d.moe.#." % n, {"linear.weight": UP, "linear_v.weight": UP, "linear_1.weight": DOWN})},
              says(top="num_selected_experts"), {}),
    "dbrx": (tensors({"transformer.blocks.@.ffn.router.layer.weight": (E, H), **{"transformer.blocks.@.ffn.experts.mlp." + w: (E * I, H) for w in ("w1", "v1", "w2")}}),
             {"ffn_config": {"moe_num_experts": E, "moe_top_k": 2}}, {"stacking": "rows"}),
    "nomic": (tensors({"encoder.layers.@.mlp.router.layer.weight": (E, H), "encoder.layers.@.mlp.experts.mlp.w1": (E * I, H),
                       "encoder.layers.@.mlp.experts.mlp.w2": (E * I, H)}), says(top="moe_top_k"), {"stacking": "rows"}),
    "llama4": (tensors({"model.layers.@.feed_forward.router.weight": (E, H), "model.layers.@.feed_forward.experts.gate_up_proj": (E, H, 2 * I),
                        "model.layers.@.feed_forward.experts.down_proj": (E, I, H), "model.layers.@.feed_forward.shared_expert.up_proj.weight": UP}),
               {"model_type": "llama4", "text_config": LOCAL}, {"stacking": "fused", "layout": "input-first", "shared": True}),
    "llama4-meta": (tensors({"layers.@.feed_forward.router_DE": (H, E), "layers.@.feed_forward.experts.moe_w_in_eD_F": (E * H, I),
                             "layers.@.feed_forward.experts.moe_w_swiglu_eD_F": (E * H, I), "layers.@.feed_forward.experts.moe_w_out_eF_D": (E * I, H),
                             "layers.@.feed_forward.w_in_shared_FD.weight": UP}), None, {"stacking": "rows", "shared": True}),
    "gpt-oss": (tensors({"model.layers.@.mlp.router.weight": (E, 64), "model.layers.@.mlp.router.bias": (E,),
                         "model.layers.@.mlp.experts.gate_up_proj_blocks": t(E, 64, 2, 16, dtype="U8"), "model.layers.@.mlp.experts.gate_up_proj_scales": t(E, 64, 2, dtype="U8"),
                         "model.layers.@.mlp.experts.gate_up_proj_bias": (E, 64), "model.layers.@.mlp.experts.down_proj_blocks": t(E, 64, 1, 16, dtype="U8"),
                         "model.layers.@.mlp.experts.down_proj_scales": t(E, 64, 1, dtype="U8"), "model.layers.@.mlp.experts.down_proj_bias": (E, 64)}),
                says("num_local_experts", "experts_per_token", model_type="gpt_oss"), {"stacking": "fused"}),
    "gpt-oss-openai": (tensors({"block.@.mlp.gate.weight": (E, 64), "block.@.mlp.mlp1_weight.blocks": t(E, 64, 2, 16, dtype="U8"),
                                "block.@.mlp.mlp1_weight.scales": t(E, 64, 2, dtype="U8"), "block.@.mlp.mlp1_bias": (E, 64),
                                "block.@.mlp.mlp2_weight.blocks": t(E, 64, 1, 16, dtype="U8"), "block.@.mlp.mlp2_weight.scales": t(E, 64, 1, dtype="U8"),
                                "block.@.mlp.mlp2_bias": (E, 64)}), says(top="experts_per_token"), {"stacking": "fused"}),
    "qwen3-vl": (tensors({"model.language_model.layers.@.mlp.gate.weight": (E, H), "model.language_model.layers.@.mlp.experts.gate_up_proj": (E, H, 2 * I),
                          "model.language_model.layers.@.mlp.experts.down_proj": (E, I, H)}),
                 {"model_type": "qwen3_vl_moe", "text_config": says()}, {"stacking": "fused", "layout": "input-first"}),
    "qwen3.5": (tensors({"model.layers.@.mlp.gate.weight": (E, H), "model.layers.@.mlp.experts.gate_up_proj": (E, 2 * I, H),
                         "model.layers.@.mlp.experts.down_proj": (E, H, I)}), says(model_type="qwen3_5_moe"), {"stacking": "fused", "layout": "linear"}),
    "gemma4": (tensors({"model.layers.@.router.proj.weight": (E, H), "model.layers.@.router.per_expert_scale": (E,), "model.layers.@.experts.gate_up_proj": (E, 2 * I, H),
                        "model.layers.@.experts.down_proj": (E, H, I), "model.layers.@.mlp.gate_proj.weight": UP}),
               says(top="top_k_experts"), {"stacking": "fused", "layout": "linear"}),
    "granite": (tensors({MIXTRAL + ".router.layer.weight": (E, H), MIXTRAL + ".input_linear.weight": (E, 2 * I, H), MIXTRAL + ".output_linear.weight": (E, H, I),
                         "model.layers.@.shared_mlp.input_linear.weight": (2 * I, H)}), LOCAL, {"stacking": "fused", "shared": True}),
    "jetmoe": (tensors({"model.layers.@.mlp.router.layer.weight": (E, H), "model.layers.@.mlp.input_linear.weight": (E, 2 * I, H), "model.layers.@.mlp.output_linear.weight": (E, H, I),
                        "model.layers.@.self_attention.experts.router.layer.weight": (E, H), "model.layers.@.self_attention.experts.input_linear.weight": (E, I, H),
                        "model.layers.@.self_attention.experts.output_linear.weight": (E, H, I)}), LOCAL, {"stacking": "fused", "layers": 4}),
    "step-3.5": (lambda n: {"model.layers.%d.moe.gate.weight" % n: t(E, H), "model.layers.%d.moe.router_bias" % n: t(E), **module("model.layers.%d.share_expert." % n, PROJ),
                            **{"model.layers.%d.moe.%s" % (n, p): t(E, *shape) for p, shape in PROJ.items()}},
                 says("moe_num_experts", "moe_top_k"), {"stacking": "fused", "shared": True}),
    "mlx": (lambda n: {"model.layers.%d.mlp.gate.weight" % n: t(E, H), **{"model.layers.%d.mlp.switch_mlp.%s" % (n, p): t(E, *shape) for p, shape in PROJ.items()}},
            says(), {"stacking": "fused"}),
    "mlx-4bit": (lambda n: {"model.layers.%d.mlp.gate.weight" % n: t(E, 64),
                            **{"model.layers.%d.mlp.switch_mlp.%s.%s" % (n, p, part): value for p in ("gate_proj", "up_proj", "down_proj")
                               for part, value in (("weight", t(E, 64, 8, dtype="U32")), ("scales", t(E, 64, 1)), ("biases", t(E, 64, 1)))}},
                 says(), {"stacking": "fused"}),
    "gguf": (tensors({"blk.@.ffn_gate_inp.weight": (E, H), "blk.@.ffn_gate_exps.weight": (E, I, H), "blk.@.ffn_up_exps.weight": (E, I, H), "blk.@.ffn_down_exps.weight": (E, H, I),
                      "blk.@.ffn_gate_shexp.weight": UP, "blk.@.ffn_gate_inp_shexp.weight": (H,), "blk.@.exp_probs_b.bias": (E,)}), None, {"stacking": "fused", "shared": True}),
    "gguf-old": (lambda n: {"blk.%d.ffn_gate_inp.weight" % n: t(E, H), **{"blk.%d.ffn_%s.%d.weight" % (n, p, e): t(*shape) for e in range(E)
                                                                         for p, shape in (("gate", UP), ("up", UP), ("down", DOWN))}}, None, {}),
    "megatron": (lambda n: {"decoder.layers.%d.mlp.router.weight" % n: t(E, H), "decoder.layers.%d.mlp.router.expert_bias" % n: t(E),
                            **experts("decoder.layers.%d.mlp.experts.local_experts.#." % n, {"linear_fc1.weight": (2 * I, H), "linear_fc2.weight": DOWN}),
                            "decoder.layers.%d.mlp.shared_experts.linear_fc1.weight" % n: t(2 * I, H)}, None, {"shared": True}),
    "megatron-te": (tensors({"decoder.layers.@.mlp.router.weight": (E, H), **{"decoder.layers.@.mlp.experts.linear_fc1.weight%d" % e: (2 * I, H) for e in range(E)},
                             **{"decoder.layers.@.mlp.experts.linear_fc2.weight%d" % e: DOWN for e in range(E)}}), None, {}),
    "megatron-grouped": (tensors({"decoder.layers.@.mlp.router.weight": (E, H), "decoder.layers.@.mlp.experts.weight1": (H, E * 2 * I), "decoder.layers.@.mlp.experts.weight2": (E * I, H)}),
                         None, {"stacking": "rows"}),
    "megatron-dist": (tensors({"decoder.layers.@.mlp.router.weight": (E, H), "decoder.layers.@.mlp.experts.experts.linear_fc1.weight": (E, 2 * I, H),
                               "decoder.layers.@.mlp.experts.experts.linear_fc2.weight": (E, H, I)}), None, {"stacking": "fused"}),
    "deepspeed": (lambda n: {"layers.%d.deepspeed_moe.gate.wg.weight" % n: t(E, H), **experts("layers.%d.deepspeed_moe.experts.deepspeed_experts.#." % n,
                                                                                            {"dense_h_to_4h.weight": UP, "dense_4h_to_h.weight": DOWN})}, None, {}),
    "gptq": (packed(MLP, {"qweight": ("I32", (8, 64)), "qzeros": ("I32", (1, 8)), "scales": ("F16", (1, 64)), "g_idx": ("I32", (64,))}), says(), {}),
    "bnb-nf4": (packed(MLP, {"weight": ("U8", (2048, 1)), "weight.absmax": ("U8", (64,)), "weight.quant_map": ("F32", (16,)), "weight.quant_state.bitsandbytes__nf4": ("U8", (80,))}), says(), {}),
    "compressed-tensors": (packed(MLP, {"weight_packed": ("I32", (64, 8)), "weight_scale": ("BF16", (64, 2)), "weight_shape": ("I64", (2,))}), says(), {}),
}
TRAPS = {
    "llama": (lambda n: module("model.layers.%d.mlp." % n, PROJ), {"num_local_experts": 8, "num_experts_per_tok": 2}),
    "phi3": (tensors({"model.layers.@.mlp.gate_up_proj.weight": (2 * I, H), "model.layers.@.mlp.down_proj.weight": DOWN}), None),
    "gguf-dense": (tensors({"blk.@.ffn_gate.weight": UP, "blk.@.ffn_up.weight": UP, "blk.@.ffn_down.weight": DOWN}), None),
    "attention-gates": (tensors({"model.layers.@.self_attn.gate_proj.weight": (H, H), "model.layers.@.self_attn.g_proj.weight": (H, H), "model.layers.@.attn.sinks": (4,)}), None),
    "shared-only": (lambda n: {"model.layers.%d.mlp.shared_expert_gate.weight" % n: t(1, H), **module("model.layers.%d.mlp.shared_expert." % n, PROJ)}, None),
    "cogvlm": (lambda n: {**module("model.layers.%d.mlp.language_mlp." % n, PROJ), **module("model.layers.%d.mlp.vision_mlp." % n, PROJ),
                          "model.layers.%d.self_attn.language_expert_query_key_value.weight" % n: t(3 * H, H),
                          "model.layers.%d.self_attn.vision_expert_query_key_value.weight" % n: t(3 * H, H)}, None),
    "gemma3n": (lambda n: {"model.layers.%d.altup.modality_router.weight" % n: t(4, H), **module("model.layers.%d.mlp." % n, PROJ)}, None),
    "heads": (tensors({name + ".%d.weight" % x: (20, H) for name in ("lm_heads", "codebooks", "embed_tokens_list") for x in range(4)}), None),
    "adapters": (tensors({"model.layers.@.adapters.%d.%s.weight" % (x, p): (H, H) for x in range(4) for p in ("down", "up")}), None),
    "classifier": (tensors({"classifier.weight": (6, H), "score.weight": (6, H), "pooler.gate.weight": (6, H)}), None),
    "one-expert": (lambda n: module("model.layers.%d.mlp." % n, PROJ), {"num_experts": 1}),
    "granite-shared": (tensors({"model.layers.@.shared_mlp.input_linear.weight": (2 * I, H), "model.layers.@.shared_mlp.output_linear.weight": DOWN}), {"num_local_experts": 0}),
    "sequential": (tensors({"blocks.@.mlp.%d.weight" % x: (H, H) for x in (0, 2, 4)}), None),
    "list-of-mlps": (tensors({"decoder.mlp.%d.fc%d.weight" % (x, k): (H, H) for x in range(3) for k in (1, 2)}), None),
    "vision-router": (tensors({"vision.merger.router.weight": (4, H), "vision.merger.mlp.0.weight": (H, H), "vision.merger.mlp.2.weight": (H, H)}), None),
    "layers-stacked-too": (tensors({"decoder.layers.mlp.experts.experts.linear_fc1.weight": (3, E, I, H), "decoder.layers.mlp.experts.experts.linear_fc2.weight": (3, E, H, I)}), None),
}


class Experts(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()

    def tearDown(self):
        shutil.rmtree(self.folder)

    def moe(self, layer, of, config):
        made = {}
        for n in range(of):
            made.update(layer(n))
        write(os.path.join(self.folder, "model.safetensors"), made)
        for name in ("config.json", "params.json"):
            if os.path.exists(os.path.join(self.folder, name)):
                os.remove(os.path.join(self.folder, name))
        if config is not None:
            name, values = config if isinstance(config, tuple) else ("config.json", config)
            with open(os.path.join(self.folder, name), "w") as f:
                json.dump(values, f)
        done = subprocess.run([PROGRAM, "moe", self.folder, "--json"], capture_output=True, timeout=120)
        return done.returncode, json.loads(done.stdout)

    def test_every_family(self):
        for name, (layer, config, expected) in FAMILIES.items():
            with self.subTest(name):
                code, found = self.moe(layer, expected.get("of", 2), config)
                self.assertEqual(code, 0)
                self.assertEqual([f["message"] for f in found["findings"] if f["severity"] != "note"], [])
                self.assertEqual(len(found["layers"]), expected.get("layers", 2))
                self.assertEqual(found["top_k"], expected.get("top_k", 2 if config is not None else None))
                self.assertEqual(sum(one["extra"] for one in found["layers"]), expected.get("extra", 0))
                for one in found["layers"]:
                    self.assertEqual((one["experts"], one["missing"], one["dead"], one["identical"]), (E, [], [], []))
                    self.assertIsNotNone(one["router"])
                    self.assertEqual(bool(one["shared"]), expected.get("shared", False))
                    self.assertEqual(one["stacking"], expected.get("stacking", "per-expert"))
                    if "layout" in expected:
                        self.assertEqual(one["layout"], expected["layout"])

    def test_what_is_none(self):
        for name, (layer, config) in TRAPS.items():
            with self.subTest(name):
                code, found = self.moe(layer, 2, config)
                self.assertEqual((code, found["detected"]), (1, False))


if __name__ == "__main__":
    unittest.main()
