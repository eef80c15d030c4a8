#!/usr/bin/env python3
"""Small random models of every family, saved by transformers itself, and what transformers computes from them.

    python3 -m venv /tmp/hf && /tmp/hf/bin/pip install torch transformers
    /tmp/hf/bin/python tests/reference/families_reference.py            writes tests/reference/fixtures/families/*
    /tmp/hf/bin/python tests/reference/families_reference.py --check    computes everything again and compares

Each directory is what save_pretrained wrote (config.json, generation_config.json, model.safetensors or shards with their
index) and, beside it, expected.safetensors: prompts, the logits of every position in fp64 arithmetic on the stored
weights, and 24 greedy tokens. Rotary angles are made in fp32 by transformers: at these lengths they are off by less than
1e-5. The C++ side is tests/model/families_test.cpp. The configurations differ in how they spell things, on purpose:
`spell` rewrites config.json as older or newer writers would.
"""
import argparse
import json
import pathlib
import shutil
import sys

import torch
import transformers
from safetensors.torch import load_file, save_file

FIXTURES = pathlib.Path(__file__).parent / "fixtures" / "families"
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 64, "rope_theta": 500000.0}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32, "rope_theta": 1000000.0}
SIZES = dict(hidden_size=16, intermediate_size=20, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1,
             initializer_range=0.25, max_position_embeddings=128)


def old_spelling(doc):
    """transformers 4: rope_theta at the top, rope_scaling with "type", torch_dtype."""
    rope = doc.pop("rope_parameters")
    doc["rope_theta"] = rope.pop("rope_theta")
    kind = rope.pop("rope_type")
    doc["rope_scaling"] = None if kind == "default" else {"type": kind} | rope
    doc["torch_dtype"] = doc.pop("dtype")
    return doc


def published_yarn(doc):
    """As the Qwen3 cards tell users to switch yarn on: max_position_embeddings stays."""
    doc = old_spelling(doc)
    doc["rope_scaling"]["rope_type"] = doc["rope_scaling"].pop("type")
    return doc


def without_head_dim(doc):
    doc.pop("head_dim", None)
    return old_spelling(doc)


# name: (family, config changes, dtype, largest shard, spelling, seed)
CASES = {
    "qwen3_tied_f32": ("Qwen3", dict(vocab_size=43, head_dim=16, tie_word_embeddings=True), "float32", "1GB", None, 1),
    "qwen3_sharded_bf16": ("Qwen3", dict(vocab_size=43, head_dim=16, tie_word_embeddings=False), "bfloat16", "4KB", old_spelling, 2),
    "qwen3_yarn": ("Qwen3", dict(vocab_size=29, head_dim=16, tie_word_embeddings=True, max_position_embeddings=40, rope_parameters=YARN), "float32", "1GB", published_yarn, 3),
    "qwen2_bf16": ("Qwen2", dict(vocab_size=37, tie_word_embeddings=True), "bfloat16", "1GB", without_head_dim, 4),
    "qwen2_sharded_f32": ("Qwen2", dict(vocab_size=37, tie_word_embeddings=False), "float32", "7KB", None, 5),
    "llama_rope3_f32": ("Llama", dict(vocab_size=31, tie_word_embeddings=True, rope_parameters=LLAMA3), "float32", "1GB", None, 6),
    "llama_sharded_f16": ("Llama", dict(vocab_size=31, tie_word_embeddings=False, rope_parameters=LLAMA3), "float16", "4KB", without_head_dim, 7),
    "llama_linear": ("Llama", dict(vocab_size=29, tie_word_embeddings=True, rope_parameters={"rope_type": "linear", "factor": 2.0, "rope_theta": 10000.0}), "bfloat16", "1GB", old_spelling, 8),
}
PROMPTS = ((1, 2, 3), tuple((7 * i) % 37 for i in range(40)), (5,))
NEW_TOKENS = 24


def make(name, directory):
    """The directory as transformers saves it."""
    family, changes, dtype, shard, spell, seed = CASES[name]
    config = getattr(transformers, family + "Config")(**(SIZES | changes), eos_token_id=[2, 3], bos_token_id=None, pad_token_id=None)
    torch.manual_seed(seed)
    model = getattr(transformers, family + "ForCausalLM")(config)
    with torch.no_grad():
        for key, value in model.named_parameters():  # norms and biases that matter
            if value.dim() == 1:
                value.copy_((1.0 if "norm" in key else 0.0) + 0.3 * torch.randn(value.shape))
    model = model.to(getattr(torch, dtype))
    model.config.dtype = getattr(torch, dtype)
    model.save_pretrained(directory, max_shard_size=shard)
    if spell:
        path = directory / "config.json"
        path.write_text(json.dumps(spell(json.loads(path.read_text())), indent=2) + "\n")


def compute(name, directory):
    """What transformers says about the directory, in fp64."""
    model = getattr(transformers, CASES[name][0] + "ForCausalLM").from_pretrained(directory, dtype=torch.float64, attn_implementation="eager")
    model.eval()
    out = {}
    with torch.no_grad():
        for i, prompt in enumerate(PROMPTS):
            ids = torch.tensor([prompt]) % model.config.vocab_size
            out[f"prompt_{i}"] = ids[0]
            out[f"logits_{i}"] = model(ids).logits[0]
            for _ in range(NEW_TOKENS):
                ids = torch.cat([ids, model(ids).logits[:, -1].argmax(-1, keepdim=True)], dim=1)
            out[f"greedy_{i}"] = ids[0, len(prompt):]
    return {key: value.contiguous() for key, value in out.items()}


def write(name):
    directory = FIXTURES / name
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    make(name, directory)
    save_file(compute(name, directory), directory / "expected.safetensors", {"transformers": transformers.__version__, "torch": torch.__version__})
    print(f"{name}: {sum(f.stat().st_size for f in directory.iterdir())} bytes in {sorted(f.name for f in directory.iterdir())}")


def check(name):
    committed = load_file(FIXTURES / name / "expected.safetensors")
    again = compute(name, FIXTURES / name)
    worst = max((committed[k].double() - v.double()).abs().max().item() for k, v in again.items())
    print(f"{name}: largest difference {worst:.1e}")
    return int(worst > 1e-9 or committed.keys() != again.keys())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    if parser.parse_args().check:
        return max(check(name) for name in CASES)
    for name in CASES:
        write(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
