#!/usr/bin/env python3
"""Compares `minirl tokenize` with the Hugging Face package `tokenizers`, id by id, over given texts and random
strings, with a real tokenizer and with small GPT-2-style and Llama-3-style ones that it trains itself.

    python3 tests/reference/tokenizer_oracle.py MINIRL [--qwen3 FOLDER] [--texts FILE.jsonl ...] [--random 100000]
    python3 tests/reference/tokenizer_oracle.py MINIRL --qwen3 FOLDER --texts ... --speed
    python3 tests/reference/tokenizer_oracle.py --qwen3 FOLDER --fixture tests/data/fixtures     writes the committed fixtures

needs: pip install tokenizers. Bad bytes: Python's str cannot hold them, so the expected ids are those of
bytes.decode("utf-8", errors="replace"), which is what `minirl tokenize` does unless told otherwise.
"""
import argparse
import hashlib
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers  # noqa: E402

QWEN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
LLAMA = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
HERE = pathlib.Path(__file__).resolve().parent
CORPUS = [p for p in ["README.md", "CONTRIBUTING.md", "docs/formats.md", "docs/numerics.md"]]


def corpus():
    root = HERE.parent.parent
    lines = []
    for name in CORPUS:
        lines += (root / name).read_text().splitlines(keepends=True)
    lines += ["Grüße aus Köln, déjà vu, naïve café 世界 こんにちは 안녕하세요 Привет мир שלום العربية हिन्दी 🙂👍🏽👨‍👩‍👧\n"] * 40
    lines += [f"{i} + {i * 7} = {i * 8}; x_{i}\n" for i in range(300)]
    return lines


def train(kind, size):
    t = Tokenizer(models.BPE(ignore_merges=kind == "llama3"))
    special = {"gpt2": ["<|endoftext|>"], "gpt2-space": ["<|endoftext|>"],
               "llama3": ["<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>", "<|start_header_id|>"],
               "qwen": ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]}[kind]
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=kind == "gpt2-space", use_regex=kind.startswith("gpt2"))
    if kind == "llama3":
        t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(LLAMA), "isolated"), byte_level])
    elif kind == "qwen":
        t.normalizer = normalizers.NFC()
        t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(QWEN), "isolated"), byte_level])
    else:
        t.pre_tokenizer = byte_level
    t.decoder = decoders.ByteLevel()
    t.post_processor = processors.ByteLevel(trim_offsets=False)
    trainer = trainers.BpeTrainer(vocab_size=size, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
                                  show_progress=False)
    t.train_from_iterator(corpus(), trainer)
    t.add_special_tokens(special)
    if kind == "llama3":
        bos = t.token_to_id("<|begin_of_text|>")
        t.post_processor = processors.Sequence([
            processors.ByteLevel(trim_offsets=False),
            processors.TemplateProcessing(single="<|begin_of_text|> $A", pair="<|begin_of_text|> $A <|begin_of_text|> $B",
                                          special_tokens=[("<|begin_of_text|>", bos)])])
    if kind == "qwen":
        t.add_tokens([AddedToken("<think>", normalized=False), AddedToken("</think>", normalized=False)])
    if kind == "gpt2":  # every rule about added tokens
        t.add_tokens([AddedToken("left", lstrip=True), AddedToken("right", rstrip=True, normalized=False),
                      AddedToken("both", lstrip=True, rstrip=True), AddedToken("word", single_word=True),
                      AddedToken("wörd", single_word=True, normalized=False), AddedToken("re\u0301sume\u0301"),
                      AddedToken("<|a|>"), AddedToken("<|a|><|b|>")])
        t.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True), AddedToken("[x]", single_word=True, special=True)])
        t.normalizer = normalizers.NFC()
    return t


SCRIPTS = [(0x20, 0x7e), (0x20, 0x7e), (0xa0, 0x17f), (0x250, 0x2ff), (0x300, 0x36f), (0x370, 0x3ff), (0x400, 0x4ff),
           (0x590, 0x5ff), (0x600, 0x6ff), (0x900, 0x97f), (0xe00, 0xe7f), (0x1100, 0x11ff), (0x1e00, 0x1eff), (0x2000, 0x206f),
           (0x2070, 0x209f), (0x2100, 0x214f), (0x2150, 0x218f), (0x2460, 0x24ff), (0x3000, 0x30ff), (0x4e00, 0x4eff),
           (0xac00, 0xacff), (0xf900, 0xfaff), (0xfb00, 0xfb4f), (0xff00, 0xffef), (0x1d400, 0x1d7ff), (0x1f300, 0x1f64f),
           (0x1f1e6, 0x1f1ff), (0x11930, 0x11940), (0x1d150, 0x1d1ff), (0x0, 0x10ffff)]
SPACES = [" ", "  ", "\t", "\n", "\r", "\r\n", "\x0b", "\x0c", "\x85", "\xa0", "\u1680", "\u2002", "\u2009", "\u2028", "\u2029", "\u202f",
          "\u205f", "\u3000", "\u200b", "\ufeff"]
PARTS = ["'s", "'S", "'re", "'LL", "'d", "'\u017f", "'ll", "'ve", "n't", "don't", "I'M", "''", "'", "\u2019s", "123", "1234567", "3.14", "\u0663\u0664",
         "\u00bd", "\u2167", "\u3007", "e\u0301", "e\u0323\u0301", "\u1e9b\u0323", "\u1100\u1161\u11a8", "\uac00\u11a8", "\u212b", "\u2126", "\u0344", "\u0958", "a\u0315\u0300\u05ae\u0300\u0062",
         "👨‍👩‍👧", "👍🏽", "🇩🇪", "☺️", "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|im_end", "|im_end|>", "<think>", "</think>",
         "<|eot_id|>", "<|begin_of_text|>", "<tool_call>", "\\boxed{", "}", "$x^2$", "...", "====", "//", "    ", "\n\n\n", " \n ",
         "def f(x):", "http://a.b/c?d=e", "left", "right", "both", "word", "wörd", "wo\u0308rd", "résumé", "<mask>", "[x]", "<|a|>", "<|a|><|b|>",
         "the", "The", " of", "Hello", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "_", "-", "="]


def random_text(rng):
    out = []
    for _ in range(rng.choice([1, 2, 3, 5, 8, 12, 20])):
        kind = rng.random()
        if kind < 0.3:
            out.append(rng.choice(PARTS))
        elif kind < 0.5:
            out.append(rng.choice(SPACES))
        else:
            low, high = rng.choice(SCRIPTS)
            for _ in range(rng.choice([1, 1, 2, 4, 7])):
                c = rng.randint(low, high)
                out.append(chr(c if not 0xd800 <= c <= 0xdfff else 0x61))
    return "".join(out)


def random_bytes(rng):
    data = bytearray(random_text(rng).encode())
    for _ in range(rng.randint(1, 4)):
        at = rng.randint(0, len(data))
        choice = rng.random()
        if choice < 0.4:
            data[at:at] = bytes([rng.randint(0x80, 0xff)])
        elif choice < 0.7 and data:
            del data[min(at, len(data) - 1)]
        else:
            data[at:at] = rng.choice([b"\xe2\x82", b"\xf0\x9f\x98", b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90\x80\x80", b"\xff", b"\xe0\x80\x80", b"\xc3"])
    return bytes(data)


def load_texts(files):
    texts = []
    for f in files:
        for line in open(f, encoding="utf-8"):
            row = json.loads(line)
            if "hex" in row:
                texts.append(bytes.fromhex(row["hex"]))
            elif "text" in row:
                texts.append(row["text"])
            else:
                texts += [row[k] for k in ("question", "problem", "answer", "solution") if isinstance(row.get(k), str)]
    return texts


def rows_of(texts):
    return "".join(json.dumps({"hex": t.hex()} if isinstance(t, bytes) else {"text": t}) + "\n" for t in texts)


def ours(binary, tokenizer, texts, *flags):
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as f:
        f.write(rows_of(texts))
        f.flush()
        done = subprocess.run([binary, "tokenize", "--tokenizer", str(tokenizer), "--jsonl", f.name, *flags],
                              capture_output=True, text=True, check=True)
    return [json.loads(line)["ids"] for line in done.stdout.splitlines()], done.stderr


def as_str(t):
    return t.decode("utf-8", errors="replace") if isinstance(t, bytes) else t


def compare(name, binary, path, reference, texts):
    bad = 0
    for mode, flags, special in (("parse", ["--add-special"], False), ("as text", ["--as-text"], True)):
        reference.encode_special_tokens = special
        got, _ = ours(binary, path, texts, *flags)
        assert len(got) == len(texts), (len(got), len(texts))
        wrong = 0
        for text, ids in zip(texts, got):
            want = reference.encode(as_str(text), add_special_tokens=not special).ids
            if want != ids:
                wrong += 1
                if wrong <= 5:
                    print("DIFFERENT", name, mode, ascii(text), "\n  want", want, "\n  got ", ids)
        print(f"{name}, special tokens {mode}: {len(texts) - wrong} of {len(texts)} texts have equal ids")
        bad += wrong
    reference.encode_special_tokens = False
    return bad


def speed(binary, folder, texts):
    texts = [as_str(t) for t in texts]
    size = sum(len(t.encode()) for t in texts)
    reference = Tokenizer.from_file(str(pathlib.Path(folder) / "tokenizer.json"))
    ratios = []
    for _ in range(5):  # alternated, so that a busy machine slows both down
        begin = time.perf_counter()
        for t in texts:
            reference.encode(t, add_special_tokens=False)
        python = size / (time.perf_counter() - begin) / 1e6
        begin = time.perf_counter()
        reference.encode_batch_fast(texts, add_special_tokens=False)
        batch = size / (time.perf_counter() - begin) / 1e6
        _, err = ours(binary, folder, texts, "--time")
        mine = float(err.split(" MB/s")[0].split()[-1])
        ratios.append(mine / max(python, batch))
        print(f"tokenizers {python:.2f} MB/s one by one, {batch:.2f} MB/s encode_batch_fast; minirl {mine:.2f} MB/s; "
              f"{err.splitlines()[0]}")
    print(f"{size} bytes, one thread: minirl is {sorted(ratios)[2]:.2f} times as fast (median of 5)")


def fixture(folder, qwen3):
    """A small Qwen-like tokenizer with texts and their ids; its chat template is that of `qwen3`."""
    folder = pathlib.Path(folder)
    (folder / "tiny_qwen").mkdir(parents=True, exist_ok=True)
    t = train("qwen", 640)
    t.save(str(folder / "tiny_qwen" / "tokenizer.json"))
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|im_end|>", "pad_token": "<|endoftext|>", "bos_token": None,
              "clean_up_tokenization_spaces": False, "model_max_length": 1000000}
    config["chat_template"] = json.loads((pathlib.Path(qwen3) / "tokenizer_config.json").read_text())["chat_template"]
    (folder / "tiny_qwen" / "tokenizer_config.json").write_text(json.dumps(config, indent=1) + "\n")
    for kind in ("gpt2", "gpt2-space", "llama3"):
        train(kind, 400).save(str(folder / f"tiny_{kind}.json".replace("-", "_")), pretty=False)
    rng = random.Random(7)
    out = []
    texts = PARTS + ["".join(SPACES)] + [random_text(rng) for _ in range(120)] + [random_bytes(rng) for _ in range(20)]
    named = {"qwen": t}
    for kind in ("gpt2", "gpt2-space", "llama3"):
        named[kind] = Tokenizer.from_file(str(folder / f"tiny_{kind}.json".replace("-", "_")))
    for text in texts:
        row = {"hex": (text if isinstance(text, bytes) else text.encode()).hex()}
        for kind, reference in named.items():
            row[kind] = reference.encode(as_str(text), add_special_tokens=False).ids
            reference.encode_special_tokens = True
            row[kind + " as text"] = reference.encode(as_str(text), add_special_tokens=False).ids
            reference.encode_special_tokens = False
        out.append(json.dumps(row, separators=(",", ":")))
    (folder / "tokenizer_ids.jsonl").write_text("\n".join(out) + "\n")


def digest(folder, files):
    """SHA-256 of all ids, as tests/data/tokenizer_file_test.cpp computes it."""
    reference = Tokenizer.from_file(str(pathlib.Path(folder) / "tokenizer.json"))
    h = hashlib.sha256()
    for t in load_texts(files):
        h.update((" ".join(map(str, reference.encode(as_str(t), add_special_tokens=False).ids)) + "\n").encode())
    return h.hexdigest()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("binary", nargs="?")
    p.add_argument("--qwen3")
    p.add_argument("--texts", nargs="*", default=[])
    p.add_argument("--random", type=int, default=100000)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--speed", action="store_true")
    p.add_argument("--fixture")
    p.add_argument("--digest", action="store_true")
    a = p.parse_args()
    if a.fixture:
        return fixture(a.fixture, a.qwen3)
    if a.digest:
        return print(digest(a.qwen3, a.texts))
    texts = load_texts(a.texts)
    if a.speed:
        return speed(a.binary, a.qwen3, texts)
    rng = random.Random(a.seed)
    texts += ["", " ", "\n"] + [random_text(rng) for _ in range(a.random * 4 // 5)] + [random_bytes(rng) for _ in range(a.random // 5)]
    bad = 0
    with tempfile.TemporaryDirectory() as work:
        if a.qwen3:
            reference = Tokenizer.from_file(str(pathlib.Path(a.qwen3) / "tokenizer.json"))
            bad += compare("Qwen3", a.binary, a.qwen3, reference, texts)
        for kind in ("gpt2", "gpt2-space", "llama3", "qwen"):
            path = pathlib.Path(work) / f"{kind}.json"
            train(kind, 2000).save(str(path))
            bad += compare(kind, a.binary, path, Tokenizer.from_file(str(path)), texts)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
