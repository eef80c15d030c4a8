#!/usr/bin/env python3
"""Does the emulator notice what it should? Removes every barrier of the CUDA kernels and moves every bound by one, one
at a time, and runs the kernels' tests of the race build against each mutant.

    scripts/mutate_cuda.py [BUILD] [--only WORD]

BUILD (default build/release) must hold a built test_emulator_race. Exit 0: every mutant was caught; 1: one was not.
A mutant that computes the same by construction is listed in EQUAL below, with the reason.
"""
import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SOURCES = ["rows.cuh", "matmul.cu", "attention.cu", "bf16.cu"]
OBJECT_OF = {"rows.cuh": "rows.cu", "matmul.cu": "matmul.cu", "attention.cu": "attention.cu", "bf16.cu": "bf16.cu"}
TESTS = {"rows.cuh": "emulator/rows*", "matmul.cu": "emulator/matmul*", "bf16.cu": "emulator/bf16*", "attention.cu": "emulator/attention*,emulator/whole_step*"}

BARRIER = re.compile(r"__sync(?:threads|warp)\(\);|wait_copies<\d>\(\);")
# "a < limit" for limits that come from sizes; limits that are constants of the kernel are not bounds of anything.
LIMITS = r"rows|n|count|d|end|width|depth|queries|lines|lines_|item\.end|p\.rows|p\.columns|p\.depth|present|present\[n\]|kTile \* d|d \* kTile"
BOUND = re.compile(r" < (?:%s)(?=[ ;)\]:?]|$)" % LIMITS)
_EMPTY = "one more turn finds nothing to do"
_UNSTORED = "computes an element that is never stored"
_PADDING = "writes the padding of the tile, which nobody reads"
EQUAL = {  # "file: line of code": why the mutant is the same kernel
    "rows.cuh: for (Index first = 0; first < n; first += kLongRowTile) {": _EMPTY,
    "matmul.cu: if (depth + kSlice < p.depth) { fetch(depth + kSlice); }": _EMPTY,
    "attention.cu: for (int first = item.first * heads; first < queries; first += kTile) {": _EMPTY,
    "attention.cu: for (int i = thread; i < kTile * d; i += threads) {": _PADDING,
    "attention.cu: present[n] = first + n < item.end ? min(position(n) + 1 - tile * kTile, kTile) : 0;": _UNSTORED,
    "attention.cu: if (c < d) { o[n][part] = fmath::fma(p, values[j * d + c], o[n][part]); }": _UNSTORED,
    "attention.cu: if (c < d) { dq[part] = fmath::fma(scaled, keys[c * kPadded + j], dq[part]); }": _UNSTORED,
    "attention.cu: if (c < d) { dv[part] = fmath::fma(weight, d_o[c * kPadded + n], dv[part]);": _UNSTORED,
}


def mutants(name):
    text = open(os.path.join(ROOT, "kernels/cuda", name)).read()
    for match in list(BARRIER.finditer(text)) + list(BOUND.finditer(text)):
        start = text.rfind("\n", 0, match.start()) + 1
        if text[start:match.start()].lstrip().startswith("//"):
            continue
        line = text[start:text.find("\n", match.start())].strip()
        if line.endswith("if (c < d) {"):  # several lines are the same: with the one that follows
            line += " " + text[text.find("\n", match.start()):].split("\n")[1].strip()
        new = "" if match.group().endswith(";") else match.group().replace("<", "<=")
        yield line, text.count("\n", 0, match.start()) + 1, match.group().strip(), text[:match.start()] + new + text[match.end():]


def commands(build, name):
    """The compile command of the source's object and the link command, as lists of words."""
    wrapper = "kernels_cuda_%s.cpp" % OBJECT_OF[name]
    compile_ = next(c for c in json.load(open(os.path.join(build, "compile_commands.json")))
                    if c["file"].endswith(wrapper) and "emulated_kernels_race" in c["command"])
    link = subprocess.run(["ninja", "-C", build, "-t", "commands", "test_emulator_race"], check=True, capture_output=True, text=True).stdout
    link = link.strip().split("\n")[-1].removeprefix(": && ").removesuffix(" && :")
    return compile_, shlex.split(link)


def run(build, name, text, folder):
    compile_, link = commands(build, name)
    os.makedirs(os.path.join(folder, "kernels/cuda"), exist_ok=True)
    path = os.path.join(folder, "kernels/cuda", name)
    open(path, "w").write(text)
    words = shlex.split(compile_["command"])
    target = words[words.index("-o") + 1]
    mutant = os.path.join(folder, "mutant.o")
    words[words.index("-o") + 1] = mutant
    first_include = next(i for i, w in enumerate(words) if w.startswith("-I"))
    words.insert(first_include, "-I" + folder)
    words.append("-w")
    subprocess.run(words, check=True, cwd=compile_["directory"])
    program = os.path.join(folder, "mutant")
    link = [mutant if w == target else w for w in link]
    link[link.index("-o") + 1] = program
    subprocess.run(link, check=True, cwd=compile_["directory"])
    os.remove(path)
    try:
        result = subprocess.run([program, "--test-case=" + TESTS[name], "--abort-after=1"], capture_output=True, text=True, timeout=300, errors="replace")
    except subprocess.TimeoutExpired:
        return "it hangs"
    if result.returncode == 0:
        return None
    for sign in ["race:", "uninitialised:", "out of bounds:", "misaligned", "divergent", "deadlock", "CHECK("]:
        for line in result.stdout.split("\n"):
            if sign in line:
                return line[line.find(sign):].strip()[:150]
    return "exit code %d" % result.returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build", nargs="?", default=os.path.join(ROOT, "build/release"))
    parser.add_argument("--only", default="", help="mutants whose line contains this")
    args = parser.parse_args()
    missed = caught = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in SOURCES:
            for line, number, what, text in mutants(name):
                if args.only not in line:
                    continue
                key = "%s: %s" % (name, line)
                if key in EQUAL:
                    print("%s:%d  %s  same kernel: %s" % (name, number, what, EQUAL[key]), flush=True)
                    continue
                how = run(args.build, name, text, folder)
                caught += how is not None
                missed += how is None
                print("%s:%d  %s  in  %s\n      %s" % (name, number, what, line[:90], how or "NOT CAUGHT"), flush=True)
    print("%d mutants caught, %d missed" % (caught, missed))
    return 1 if missed or not caught else 0


if __name__ == "__main__":
    sys.exit(main())
