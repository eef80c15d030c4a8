#!/usr/bin/env python3
"""Compares minirl's byte tokenizer with the Hugging Face package `tokenizers`, which loads the tokenizer.json
that minirl wrote (a checkpoint folder, or the output of `minirl tokenize --save`).

    python3 tests/reference/tokenizer_check.py FOLDER        needs: pip install tokenizers
"""
import pathlib
import sys

from tokenizers import Tokenizer

SPECIALS = {"<|endoftext|>": 256, "<|im_start|>": 257, "<|im_end|>": 258, "<think>": 259, "</think>": 260}
TEXTS = [
    "", "37+48=?\n", "7+8=15, 3+4+1=8, so \\boxed{85}", "Grüße, 世界 🙂", "<|endoftext|>", "a<|im_start|>user\nhi<|im_end|>b",
    "<think>hm</think> <|endoftext|", "<<|im_end|>>", "  two  spaces\t\r\n", "<|endoftext|><|endoftext|>", " <|im_end|> ",
] + [chr(c) for c in range(0x250)] + ["".join(chr(c) for c in range(1, 0x100))]


def expected(text):
    """What minirl's encode() returns: bytes, except for the texts of special tokens."""
    ids, data = [], text.encode()
    while data:
        for name, number in SPECIALS.items():
            if data.startswith(name.encode()):
                ids.append(number)
                data = data[len(name):]
                break
        else:
            ids.append(data[0])
            data = data[1:]
    return ids


def main():
    tokenizer = Tokenizer.from_file(str(pathlib.Path(sys.argv[1]) / "tokenizer.json"))
    assert tokenizer.get_vocab_size(with_added_tokens=True) == 261, tokenizer.get_vocab_size()
    wrong = 0
    for text in TEXTS:
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        if ids != expected(text):
            wrong += 1
            print("encode differs:", repr(text), ids, expected(text))
        if tokenizer.decode(ids, skip_special_tokens=False) != text:
            wrong += 1
            print("decode differs:", repr(text), repr(tokenizer.decode(ids, skip_special_tokens=False)))
    # Every byte has a token of its own, and the character that stands for it is the one of GPT-2's alphabet.
    for byte in range(256):
        token = tokenizer.id_to_token(byte)
        if token is None or tokenizer.token_to_id(token) != byte:
            wrong += 1
            print("byte without a token:", byte)
    print(f"{len(TEXTS)} texts and 256 bytes, {wrong} differences (tokenizers {__import__('tokenizers').__version__})")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
