#!/usr/bin/env python3
"""The decoder of minirl in eager PyTorch, as well configured as we know how: the peer of bench/compare.cpp.

Reads one JSON request a line from stdin and answers one JSON line:
  {"op": "load", "config": {fields of ModelConfig}, "weights": folder or null, "threads": n}
  {"op": "loss", "tokens": [[...], ...]}            mean of -log p over every token but the first
  {"op": "train", "sequences": n, "length": t}      seconds of one step: forward, loss, backward, AdamW
  {"op": "sample", "batch": n, "prompt": p, "new": t}   seconds of sampling with a KV cache
  {"op": "info"}                                    versions and set-up
The first call of each shape is a warm-up that the caller does not count. Weights in a folder are read without
any package: the safetensors format is a JSON header and raw values.
"""
import json
import math
import os
import struct
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

HAS_SDPA = hasattr(F, "scaled_dot_product_attention")
HAS_RMS_NORM = hasattr(F, "rms_norm")


class RMSNorm(nn.Module):
    def __init__(self, size, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x):
        if HAS_RMS_NORM:
            return F.rms_norm(x, self.weight.shape, self.weight, self.eps)
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


def rotate(x, cos, sin):
    half = x.shape[-1] // 2
    return x * cos + torch.cat([-x[..., half:], x[..., :half]], -1) * sin


class Layer(nn.Module):
    def __init__(self, c):
        super().__init__()
        D, d, F_ = c["hidden_size"], c["head_dim"], c["ffn_size"]
        self.H, self.G, self.d = c["num_heads"], c["num_kv_heads"], d
        eps = c["rms_norm_eps"]
        linear = lambda rows, columns: nn.Linear(columns, rows, bias=False)
        self.input_layernorm, self.post_attention_layernorm = RMSNorm(D, eps), RMSNorm(D, eps)
        self.q_norm, self.k_norm = RMSNorm(d, eps), RMSNorm(d, eps)
        self.q_proj, self.o_proj = linear(self.H * d, D), linear(D, self.H * d)
        self.k_proj, self.v_proj = linear(self.G * d, D), linear(self.G * d, D)
        self.gate_proj, self.up_proj, self.down_proj = linear(F_, D), linear(F_, D), linear(D, F_)

    def attend(self, q, k, v):
        """q (B, H, T, d), k and v (B, G, S, d); causal when T > 1."""
        B, H, T, d = q.shape
        G, S = k.shape[1], k.shape[2]
        if T > 1 and HAS_SDPA:
            k, v = (x.repeat_interleave(H // G, 1) for x in (k, v))
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)
        # One product a kv head: the query heads of a group are folded into the rows.
        scores = torch.matmul(q.reshape(B, G, (H // G) * T, d), k.transpose(-1, -2)) * (1.0 / math.sqrt(d))
        if T > 1:
            hidden = torch.ones(T, S, dtype=torch.bool).triu(S - T + 1)
            scores = scores.view(B, G, H // G, T, S).masked_fill(hidden, -math.inf).view(B, G, -1, S)
        return torch.matmul(torch.softmax(scores, -1), v).view(B, H, T, d)

    def forward(self, x, cos, sin, cache=None, position=0):
        B, T, _ = x.shape
        y = self.input_layernorm(x)
        heads = lambda z, count: z.view(B, T, count, self.d)
        q = rotate(self.q_norm(heads(self.q_proj(y), self.H)).transpose(1, 2), cos, sin)
        k = rotate(self.k_norm(heads(self.k_proj(y), self.G)).transpose(1, 2), cos, sin)
        v = heads(self.v_proj(y), self.G).transpose(1, 2)
        if cache is not None:
            cache[0][:, :, position:position + T] = k
            cache[1][:, :, position:position + T] = v
            if position > 0:
                k, v = (t[:, :, :position + T] for t in cache)
        x = x + self.o_proj(self.attend(q, k, v).transpose(1, 2).reshape(B, T, -1))
        y = self.post_attention_layernorm(x)
        return x + self.down_proj(F.silu(self.gate_proj(y)) * self.up_proj(y))


class Model(nn.Module):
    def __init__(self, c, positions):
        super().__init__()
        self.c = c
        self.embed = nn.Embedding(c["vocab_size"], c["hidden_size"])
        self.layers = nn.ModuleList([Layer(c) for _ in range(c["num_layers"])])
        self.norm = RMSNorm(c["hidden_size"], c["rms_norm_eps"])
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.normal_(p, std=c["initializer_range"])
        self.set_positions(positions)

    def set_positions(self, positions):
        d = self.c["head_dim"]
        inverse = 1.0 / (self.c["rope_theta"] ** (torch.arange(0, d, 2, dtype=torch.float64) / d))
        angle = torch.outer(torch.arange(positions, dtype=torch.float64), inverse)
        angle = torch.cat([angle, angle], -1)
        self.cos, self.sin = angle.cos().float(), angle.sin().float()

    def hidden(self, ids, cache=None, position=0):
        T = ids.shape[1]
        x = self.embed(ids)
        cos, sin = self.cos[position:position + T], self.sin[position:position + T]
        for i, layer in enumerate(self.layers):
            x = layer(x, cos, sin, None if cache is None else cache[i], position)
        return x

    def logits(self, x):
        return F.linear(self.norm(x), self.embed.weight)

    def loss(self, ids):
        logits = self.logits(self.hidden(ids[:, :-1]))
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), ids[:, 1:].reshape(-1))


def read_safetensors(path):
    with open(path, "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        data = bytearray(f.read())
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        assert entry["dtype"] == "F32", entry
        begin, end = entry["data_offsets"]
        yield name, torch.frombuffer(data, dtype=torch.float32, count=(end - begin) // 4, offset=begin).view(entry["shape"])


def load_weights(model, folder):
    ours = dict(model.named_parameters())
    with torch.no_grad():
        for file in sorted(os.listdir(folder)):
            if not file.endswith(".safetensors"):
                continue
            for name, tensor in read_safetensors(os.path.join(folder, file)):
                key = name.replace("model.", "", 1).replace("embed_tokens", "embed")
                key = key.replace("self_attn.", "").replace("mlp.", "")
                ours.pop(key).copy_(tensor)
    assert not ours, f"no weights for {sorted(ours)}"


class Peer:
    def load(self, r):
        torch.set_num_threads(r["threads"])
        torch.manual_seed(0)
        self.c = r["config"]
        self.model = Model(self.c, 4096)
        if r.get("weights"):
            load_weights(self.model, r["weights"])
        self.optimizer = None
        return {"parameters": sum(p.numel() for p in self.model.parameters())}

    def loss(self, r):
        with torch.no_grad():
            return {"loss": self.model.loss(torch.tensor(r["tokens"])).item()}

    def train(self, r):
        if self.optimizer is None:
            options = dict(lr=1e-6, betas=(0.9, 0.95), weight_decay=0.0)
            try:
                self.optimizer = torch.optim.AdamW(self.model.parameters(), fused=True, **options)
            except (TypeError, RuntimeError):
                self.optimizer = torch.optim.AdamW(self.model.parameters(), **options)
        ids = torch.randint(0, self.c["vocab_size"], (r["sequences"], r["length"] + 1))
        start = time.perf_counter()
        self.optimizer.zero_grad(set_to_none=True)
        self.model.loss(ids).backward()
        self.optimizer.step()
        return {"seconds": time.perf_counter() - start}

    @torch.inference_mode()
    def sample(self, r):
        B, length = r["batch"], r["prompt"] + r["new"]
        shape = (B, self.c["num_kv_heads"], length, self.c["head_dim"])
        current = torch.randint(0, self.c["vocab_size"], (B, r["prompt"]))
        start = time.perf_counter()
        cache = [(torch.empty(shape), torch.empty(shape)) for _ in range(self.c["num_layers"])]
        position, logps = 0, []
        for _ in range(r["new"]):
            x = self.model.hidden(current, cache, position)[:, -1:]
            position += current.shape[1]
            logp = torch.log_softmax(self.model.logits(x)[:, -1], -1)
            # Gumbel-max: the same draw as ours, and faster than torch.multinomial.
            noise = torch.empty_like(logp).exponential_().log_().neg_()
            current = (logp + noise).argmax(-1, keepdim=True)
            logps.append(logp.gather(-1, current))
        torch.cat(logps, -1)
        return {"seconds": time.perf_counter() - start}

    def info(self, _):
        with open("/proc/self/maps") as f:
            blas = sorted({os.path.basename(l.split()[-1]) for l in f if "blas" in l.lower() or "mkl" in l})
        return {"torch": torch.__version__, "python": sys.version.split()[0], "threads": torch.get_num_threads(),
                "blas": blas, "mkl": torch.backends.mkl.is_available(), "preload": os.environ.get("LD_PRELOAD", "")}


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever libraries print goes to stderr
    peer = Peer()
    for line in sys.stdin:
        request = json.loads(line)
        answers.write(json.dumps(getattr(peer, request["op"])(request)) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
