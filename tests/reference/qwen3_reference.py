#!/usr/bin/env python3
"""An independent Qwen3 in plain PyTorch, written from the published architecture (docs/math/qwen3.md).

It shares nothing with minirl: whole score matrices, torch's softmax, torch's autograd, everything in fp64, one
sequence at a time (so that a ragged batch is right by definition). It writes small random models as Hugging Face
directories and, beside each, what a right implementation computes from it:

    python3 tests/reference/qwen3_reference.py            writes tests/reference/fixtures/qwen3/*
    python3 tests/reference/qwen3_reference.py --check    computes everything again and compares

Needs python3-torch and python3-numpy. The C++ side is tests/model/reference_test.cpp.
"""
import argparse
import dataclasses
import json
import pathlib
import struct
import sys

import numpy
import torch

FIXTURES = pathlib.Path(__file__).parent / "fixtures" / "qwen3"
TEMPERATURES = (1.0, 0.7)


@dataclasses.dataclass
class Config:
    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    rope_theta: float
    rms_norm_eps: float
    tie_word_embeddings: bool


@dataclasses.dataclass
class Case:
    name: str
    config: Config
    lengths: tuple  # tokens of each sequence that are run; each predicts one target
    temperature: float  # of the loss
    entropy: bool  # whether the loss has an entropy term
    dtype: str  # storage of the weights
    seed: int


CASES = [
    # As many key-value heads as query heads; lengths around the key tile of 32.
    Case("mha_tied", Config(37, 16, 24, 2, 2, 2, 8, 1e4, 1e-6, True), (1, 33, 5, 70), 1.0, False, "F32", 1),
    # Two query heads a key-value head, head_dim != hidden_size / heads and no multiple of any vector width.
    Case("gqa2_untied", Config(53, 20, 36, 2, 4, 2, 14, 1e6, 1e-6, False), (64, 1, 32, 7), 0.7, True, "F32", 2),
    # Four query heads on one key-value head, three layers, a large epsilon.
    Case("gqa4_tied", Config(29, 24, 20, 3, 4, 1, 6, 5e5, 1e-3, True), (3, 100, 31), 0.7, False, "F32", 3),
    # Heads wider than 32, three heads a group, one layer, bf16 storage, one long sequence.
    Case("wide_heads_bf16", Config(41, 12, 16, 1, 3, 1, 40, 1e6, 1e-6, False), (130, 2), 1.0, False, "BF16", 4),
    # Reductions longer than 256, the chunk of a matmul's sums (docs/math/matmul.md).
    Case("long_rows_tied", Config(11, 264, 8, 1, 2, 1, 4, 1e4, 1e-6, True), (40, 1, 9), 1.0, True, "F32", 5),
]


# ---- the model -------------------------------------------------------------------------------------------------


def parameter_shapes(c):
    """Name -> shape, as Hugging Face names them; a vector is a norm."""
    shapes = {"model.embed_tokens.weight": (c.vocab_size, c.hidden_size)}
    for layer in range(c.num_hidden_layers):
        prefix = f"model.layers.{layer}."
        shapes |= {
            prefix + "input_layernorm.weight": (c.hidden_size,),
            prefix + "self_attn.q_proj.weight": (c.num_attention_heads * c.head_dim, c.hidden_size),
            prefix + "self_attn.k_proj.weight": (c.num_key_value_heads * c.head_dim, c.hidden_size),
            prefix + "self_attn.v_proj.weight": (c.num_key_value_heads * c.head_dim, c.hidden_size),
            prefix + "self_attn.o_proj.weight": (c.hidden_size, c.num_attention_heads * c.head_dim),
            prefix + "self_attn.q_norm.weight": (c.head_dim,),
            prefix + "self_attn.k_norm.weight": (c.head_dim,),
            prefix + "post_attention_layernorm.weight": (c.hidden_size,),
            prefix + "mlp.gate_proj.weight": (c.intermediate_size, c.hidden_size),
            prefix + "mlp.up_proj.weight": (c.intermediate_size, c.hidden_size),
            prefix + "mlp.down_proj.weight": (c.hidden_size, c.intermediate_size),
        }
    shapes["model.norm.weight"] = (c.hidden_size,)
    if not c.tie_word_embeddings:
        shapes["lm_head.weight"] = (c.vocab_size, c.hidden_size)
    return shapes


def rms_norm(x, weight, eps):
    return x / torch.sqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight


def rotate(x, theta):
    """Rotary embedding of x (positions, heads, head_dim), dimension i paired with i + head_dim / 2."""
    length, _, width = x.shape
    frequency = theta ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    angle = torch.outer(torch.arange(length, dtype=torch.float64), frequency)[:, None, :]
    first, second = x.split(width // 2, dim=-1)
    return torch.cat([first * angle.cos() - second * angle.sin(), second * angle.cos() + first * angle.sin()], dim=-1)


def attention(c, w, prefix, x):
    length = x.shape[0]
    heads = lambda part, count: (x @ w[prefix + part + ".weight"].T).view(length, count, c.head_dim)
    q = rms_norm(heads("q_proj", c.num_attention_heads), w[prefix + "q_norm.weight"], c.rms_norm_eps)
    k = rms_norm(heads("k_proj", c.num_key_value_heads), w[prefix + "k_norm.weight"], c.rms_norm_eps)
    v = heads("v_proj", c.num_key_value_heads)
    q, k = rotate(q, c.rope_theta), rotate(k, c.rope_theta)
    visible = torch.ones(length, length, dtype=torch.bool).tril()
    outputs = []
    for head in range(c.num_attention_heads):
        group = head // (c.num_attention_heads // c.num_key_value_heads)
        scores = q[:, head] @ k[:, group].T / c.head_dim**0.5
        outputs.append(scores.masked_fill(~visible, float("-inf")).softmax(-1) @ v[:, group])
    return torch.cat(outputs, dim=-1) @ w[prefix + "o_proj.weight"].T


def mlp(w, prefix, x):
    gate, up = x @ w[prefix + "gate_proj.weight"].T, x @ w[prefix + "up_proj.weight"].T
    return (gate * torch.sigmoid(gate) * up) @ w[prefix + "down_proj.weight"].T


def logits(c, w, ids):
    """(tokens, vocab_size) of one sequence."""
    x = w["model.embed_tokens.weight"][ids]
    for layer in range(c.num_hidden_layers):
        prefix = f"model.layers.{layer}."
        x = x + attention(c, w, prefix + "self_attn.", rms_norm(x, w[prefix + "input_layernorm.weight"], c.rms_norm_eps))
        x = x + mlp(w, prefix + "mlp.", rms_norm(x, w[prefix + "post_attention_layernorm.weight"], c.rms_norm_eps))
    x = rms_norm(x, w["model.norm.weight"], c.rms_norm_eps)
    head = w["model.embed_tokens.weight"] if c.tie_word_embeddings else w["lm_head.weight"]
    return x @ head.T


# ---- one case --------------------------------------------------------------------------------------------------


def random_weights(case):
    """fp64 tensors whose values the storage type holds exactly, so that every precision starts from the same numbers."""
    generator = torch.Generator().manual_seed(case.seed)
    storage = {"F32": torch.float32, "BF16": torch.bfloat16}[case.dtype]
    weights = {}
    for name, shape in parameter_shapes(case.config).items():
        noise = torch.randn(shape, generator=generator, dtype=torch.float64)
        value = 1 + 0.25 * noise if len(shape) == 1 else noise * shape[1] ** -0.5
        weights[name] = value.to(storage).double().requires_grad_()
    return weights, generator


def compute(case):
    """The model's weights and everything that follows from them."""
    weights, generator = random_weights(case)
    total = sum(case.lengths)
    draw = lambda: torch.randint(case.config.vocab_size, (total,), generator=generator)
    ids, targets = draw(), draw()
    loss_weights = torch.randn(total, generator=generator, dtype=torch.float64) / total
    entropy_weights = torch.randn(total, generator=generator, dtype=torch.float64) / total * case.entropy
    all_logits = torch.cat([logits(case.config, weights, part) for part in ids.split(case.lengths)])

    out = {"ids": ids, "targets": targets, "lengths": torch.tensor(case.lengths)}
    out |= {"loss_weights": loss_weights, "entropy_weights": entropy_weights}
    for temperature in TEMPERATURES:
        logp = (all_logits / temperature).log_softmax(-1)
        out[f"logp_{temperature}"] = logp.gather(1, targets[:, None])[:, 0]
        out[f"entropy_{temperature}"] = -(logp.exp() * logp).sum(-1)
    loss = -(loss_weights * out[f"logp_{case.temperature}"] + entropy_weights * out[f"entropy_{case.temperature}"]).sum()
    loss.backward()
    out["loss"] = loss[None]
    # Rows at the start, at both sides of a tile's border, and at the end.
    rows = sorted({r for r in (0, 1, 31, 32, 33, 63, 64, total - 1) if r < total})
    out |= {"logits_rows": torch.tensor(rows), "logits": all_logits[rows]}
    out |= {"grad." + name: w.grad for name, w in weights.items()}
    return weights, {name: value.detach() for name, value in out.items()}


def config_json(case):
    c = dataclasses.asdict(case.config)
    return c | {
        "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_act": "silu", "attention_bias": False,
        "max_position_embeddings": 256, "torch_dtype": {"F32": "float32", "BF16": "bfloat16"}[case.dtype],
    }


# ---- files -----------------------------------------------------------------------------------------------------


def tensor_bytes(value, dtype):
    if dtype == "BF16":  # the upper half of a float; the values are exact
        return (value.float().numpy().view(numpy.uint32) >> 16).astype(numpy.uint16).tobytes()
    kinds = {"F32": (torch.float32, numpy.float32), "F64": (torch.float64, numpy.float64), "I64": (torch.int64, numpy.int64)}
    return value.to(kinds[dtype][0]).numpy().astype(kinds[dtype][1]).tobytes()


def safetensors(tensors, metadata):
    """name -> (value, dtype) as a safetensors file: header length, JSON header, data."""
    header, data = {"__metadata__": metadata}, b""
    for name, (value, dtype) in tensors.items():
        piece = tensor_bytes(value, dtype)
        header[name] = {"dtype": dtype, "shape": list(value.shape), "data_offsets": [len(data), len(data) + len(piece)]}
        data += piece
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def read_safetensors(raw):
    size = struct.unpack("<Q", raw[:8])[0]
    header, data, out = json.loads(raw[8:8 + size]), raw[8 + size:], {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] in ("F64", "I64"):
            kind = numpy.float64 if entry["dtype"] == "F64" else numpy.int64
            begin, end = entry["data_offsets"]
            out[name] = numpy.frombuffer(data[begin:end], kind).reshape(entry["shape"])
    return out


def write(case):
    weights, expected = compute(case)
    directory = FIXTURES / case.name
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "config.json").write_text(json.dumps(config_json(case), indent=2) + "\n")
    stored = {name: (w.detach(), case.dtype) for name, w in weights.items()}
    (directory / "model.safetensors").write_bytes(safetensors(stored, {"format": "pt"}))
    kinds = {name: (value, "F64" if value.is_floating_point() else "I64") for name, value in expected.items()}
    facts = {"temperature": str(case.temperature), "seed": str(case.seed), "torch": torch.__version__}
    (directory / "expected.safetensors").write_bytes(safetensors(kinds, facts))
    print(f"{case.name}: {sum(w.numel() for w in weights.values())} parameters, loss {expected['loss'].item():.6f}")


def check(case):
    """0 when the committed files are what this program computes, up to the rounding of another torch."""
    weights, expected = compute(case)
    directory = FIXTURES / case.name
    stored = {name: (w.detach(), case.dtype) for name, w in weights.items()}
    if (directory / "model.safetensors").read_bytes() != safetensors(stored, {"format": "pt"}):
        print(f"{case.name}: the weights differ (another random generator?)")
        return 1
    committed = read_safetensors((directory / "expected.safetensors").read_bytes())
    worst, where = 0.0, ""
    for name, value in expected.items():
        value = value.numpy()
        error = abs(committed[name] - value).max() / max(abs(value).max(), 1e-30)
        if error > worst:
            worst, where = error, name
    print(f"{case.name}: largest relative difference {worst:.1e} {where}")
    return int(worst > 1e-12 or committed.keys() != expected.keys())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with the committed files instead of writing them")
    if parser.parse_args().check:
        return max(check(case) for case in CASES)
    for case in CASES:
        write(case)
    return 0


if __name__ == "__main__":
    sys.exit(main())
