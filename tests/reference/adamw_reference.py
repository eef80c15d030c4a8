#!/usr/bin/env python3
"""Three steps of torch.optim.AdamW in fp64 with clipping by the global norm: the numbers behind tests/rl/optimizer_test.cpp.

    python3 tests/reference/adamw_reference.py            writes tests/reference/fixtures/adamw.safetensors
    python3 tests/reference/adamw_reference.py --check    computes everything again and compares

The factor is min(1, max_norm / norm) as in docs/math/adamw.md; torch's own clip_grad_norm_ adds 1e-6 to the norm.
"""
import pathlib
import sys

import torch

from qwen3_reference import read_safetensors, safetensors

FILE = pathlib.Path(__file__).parent / "fixtures" / "adamw.safetensors"
SHAPES = {"matrix": (30, 36), "norm": (17,), "small": (3, 5)}  # 30 x 36 is more than one block of 1024
SETTINGS = {"beta1": 0.9, "beta2": 0.95, "eps": 1e-3, "weight_decay": 0.1, "max_grad_norm": 0.5}
LEARNING_RATES = (0.05, 0.02, 0.1)
GRADIENT_SCALES = (1.0, 0.001, 0.2)  # the second step stays below max_grad_norm


def compute():
    generator = torch.Generator().manual_seed(11)
    draw = lambda shape, scale: (torch.randn(shape, generator=generator, dtype=torch.float64) * scale).float().double()
    parameters = {name: torch.nn.Parameter(draw(shape, 0.5)) for name, shape in SHAPES.items()}
    matrices = [p for p in parameters.values() if p.dim() > 1]
    vectors = [p for p in parameters.values() if p.dim() == 1]
    optimizer = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": SETTINGS["weight_decay"]}, {"params": vectors, "weight_decay": 0.0}],
        betas=(SETTINGS["beta1"], SETTINGS["beta2"]), eps=SETTINGS["eps"])
    out = {f"value.0.{name}": p.detach().clone() for name, p in parameters.items()}
    norms, clips = [], []
    for step, (rate, scale) in enumerate(zip(LEARNING_RATES, GRADIENT_SCALES), 1):
        for name, p in parameters.items():
            p.grad = draw(SHAPES[name], scale)
            out[f"grad.{step}.{name}"] = p.grad.clone()
        norm = sum(p.grad.pow(2).sum() for p in parameters.values()).sqrt()
        clip = min(1.0, SETTINGS["max_grad_norm"] / norm.item())
        for p in parameters.values():
            p.grad *= clip
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.step()
        norms.append(norm.item())
        clips.append(clip)
        out |= {f"value.{step}.{name}": p.detach().clone() for name, p in parameters.items()}
    for name, p in parameters.items():
        out[f"exp_avg.{name}"] = optimizer.state[p]["exp_avg"]
        out[f"exp_avg_sq.{name}"] = optimizer.state[p]["exp_avg_sq"]
    out |= {"learning_rates": torch.tensor(LEARNING_RATES, dtype=torch.float64), "norms": torch.tensor(norms, dtype=torch.float64),
            "clips": torch.tensor(clips, dtype=torch.float64)}
    return out


def main():
    out = compute()
    if "--check" in sys.argv[1:]:
        committed = read_safetensors(FILE.read_bytes())
        worst = max(abs(committed[name] - value.numpy()).max() for name, value in out.items())
        print(f"adamw: largest difference {worst:.1e}")
        return int(worst > 1e-13 or committed.keys() != out.keys())
    FILE.parent.mkdir(parents=True, exist_ok=True)
    FILE.write_bytes(safetensors({name: (value, "F64") for name, value in out.items()}, {k: repr(v) for k, v in SETTINGS.items()}))
    print(f"adamw: {len(out)} tensors")
    return 0


if __name__ == "__main__":
    sys.exit(main())
