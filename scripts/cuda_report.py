#!/usr/bin/env python3
"""Registers, spills and shared memory of every CUDA kernel as ptxas counts them, and the occupancy that they imply.

    scripts/cuda_report.py [--arch 90]      prints the table of docs/cuda.md; needs nvcc and c++filt
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Of a multiprocessor of sm_90 (and sm_80 and sm_100, but for shared memory).
REGISTERS, THREADS, BLOCKS = 65536, 2048, 32
SHARED = {"80": 164 * 1024, "90": 228 * 1024, "100": 228 * 1024}
RESERVED = 1024  # bytes of shared memory a block costs besides its own
# Threads of a block, and bytes of dynamic shared memory a channel of a head (attention<n> has 32 n channels).
SHAPES = [("warp_rows", 128, 0), ("block_rows", 256, 0), ("matmul", 256, 0), ("attention_forward_kernel", 256, (2 * 32 + 8 * 4) * 4),
          ("attention_query_grad", 256, (2 * 33 + 8 * 2) * 4), ("attention_key_grad", 256, (2 * 33 + 8 * 2) * 4), ("kv_store_kernel", 128, 0),
          ("bf16_product", 128, 0)]


def kernels(arch):
    with tempfile.TemporaryDirectory() as folder:
        for source in sorted(os.listdir(os.path.join(ROOT, "kernels/cuda"))):
            if not source.endswith(".cu"):
                continue
            run = subprocess.run(["nvcc", "-std=c++20", "-O3", "--fmad=false", "--extended-lambda", "--expt-relaxed-constexpr", "-arch=sm_" + arch,
                                  "-Xptxas", "-v", "-I" + ROOT, "-c", os.path.join(ROOT, "kernels/cuda", source), "-o", os.path.join(folder, "o.o")],
                                 capture_output=True, text=True)
            if run.returncode != 0:
                sys.exit(run.stderr)
            for entry in run.stderr.split("Compiling entry function")[1:]:
                name = subprocess.run(["c++filt", re.search(r"'(\w+)'", entry).group(1)], capture_output=True, text=True).stdout
                name = re.sub(r"minirl::kernels::(cuda::)?|\(anonymous namespace\)::|^void ", "", name.strip())
                name = re.sub(r"\(Meet\)", "meet ", re.sub(r"\(Layout\)", "layout ", name.split(">(")[0] + (">" if ">(" in name else "")))
                number = lambda pattern: int((re.search(pattern, entry) or [0, 0])[1])
                yield name.split("(AttentionDims")[0], number(r"Used (\d+) registers"), number(r"(\d+) bytes spill stores"), number(r"(\d+) bytes smem")


def occupancy(arch, threads, registers, shared):
    warps = threads // 32
    by_registers = REGISTERS // (warps * 32 * ((registers + 7) // 8 * 8))  # registers are given in eights
    blocks = min(THREADS // threads, by_registers, SHARED[arch] // (shared + RESERVED), BLOCKS)
    return blocks, blocks * threads / THREADS


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--arch", default="90", choices=sorted(SHARED))
    arch = parser.parse_args().arch
    print("| kernel (sm_%s) | registers | spilled bytes | shared bytes | blocks a multiprocessor | occupancy |\n|---|---|---|---|---|---|" % arch)
    for name, registers, spilled, static in kernels(arch):
        shape = next(s for s in SHAPES if name.startswith(s[0]))
        channels = 32 * int(re.search(r"<(\d+)", name).group(1)) if shape[2] else 0
        shared = static + shape[2] * channels
        blocks, share = occupancy(arch, shape[1], registers, shared)
        print("| `%s` | %d | %d | %d | %d | %.0f%% |" % (name, registers, spilled, shared, blocks, 100 * share))


if __name__ == "__main__":
    main()
