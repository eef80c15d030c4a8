#!/usr/bin/env python3
"""Writes the small parquet files of tests/data/fixtures/parquet with pyarrow, and rows.json: what is in all of them.

    python3 tests/reference/parquet_fixtures.py tests/data/fixtures/parquet          needs: pip install pyarrow
    python3 tests/reference/parquet_fixtures.py --big FILE.parquet ROWS              a large file in DAPO's layout
"""
import json
import pathlib
import sys

import pyarrow as pa
import pyarrow.parquet as pq

MESSAGE = pa.struct([("role", pa.string()), ("content", pa.string())])
SCHEMA = pa.schema([
    ("data_source", pa.string()), ("prompt", pa.list_(MESSAGE)), ("ability", pa.string()),
    ("reward_model", pa.struct([("ground_truth", pa.string()), ("style", pa.string())])),
    ("extra_info", pa.struct([("index", pa.string()), ("split", pa.string()), ("n", pa.int64())])),
    ("level", pa.int32()), ("score", pa.float64()), ("half", pa.float32()), ("ok", pa.bool_()),
    ("tags", pa.list_(pa.list_(pa.string()))), ("required", pa.field("required", pa.string(), nullable=False).type)])


def rows(n):
    out = []
    for i in range(n):
        messages = [{"role": "user", "content": f"What is {i} + {i}? Grüße 世界" + " long" * (i % 7)}]
        if i % 3 == 0:
            messages.insert(0, {"role": "system", "content": "Be brief."})
        out.append({
            "data_source": "math_dapo", "prompt": None if i == 11 else [] if i == 12 else messages, "ability": "MATH" if i % 2 else None,
            "reward_model": None if i == 13 else {"ground_truth": None if i == 14 else str(2 * i), "style": "rule"},
            "extra_info": {"index": f"id-{i}", "split": "train", "n": None if i % 5 == 0 else i * 10**12 - 7}, "level": i - 3,
            "score": None if i == 4 else i / 4, "half": i / 2, "ok": None if i == 6 else i % 3 == 0,
            "tags": None if i == 1 else [] if i == 2 else [["a", None], [], ["b" * (i % 4)]] if i % 2 else [None, ["c"]],
            "required": f"r{i}"})
    return out


def main():
    if sys.argv[1] == "--big":
        n = int(sys.argv[3])
        data = {"data_source": ["math_dapo"] * n,
                "prompt": [[{"role": "user", "content": "Solve the following math problem step by step. The last line of your response should be of the form "
                             "Answer: $Answer (without quotes) where $Answer is the answer to the problem.\n\n"
                             f"Find {i % 17000} plus one." + " pad" * 40 + "\n\nRemember to put your answer on its own line after \"Answer:\"."}] for i in range(n)],
                "ability": ["MATH"] * n, "reward_model": [{"ground_truth": str(i % 17000 + 1), "style": "rule-lighteval/MATH_v2"} for i in range(n)],
                "extra_info": [{"index": f"{i % 17000:036d}"} for i in range(n)]}
        return pq.write_table(pa.table(data), sys.argv[2])
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    content = rows(24)
    table = pa.Table.from_pylist(content, schema=SCHEMA)
    (folder / "rows.json").write_text(json.dumps(table.to_pylist(), ensure_ascii=False) + "\n")
    strings = ["data_source", "prompt.list.element.role", "prompt.list.element.content", "required"]
    files = {
        "snappy_v1": dict(), "gzip_plain": dict(compression="gzip", use_dictionary=False),
        "zstd_v2": dict(compression="zstd", data_page_version="2.0"), "none_v2_plain": dict(compression="none", data_page_version="2.0", use_dictionary=False),
        "small_pages": dict(data_page_size=64, dictionary_pagesize_limit=64, write_batch_size=3, row_group_size=7),
        "delta": dict(use_dictionary=False, data_page_version="2.0",
                      column_encoding={**{s: "DELTA_BYTE_ARRAY" for s in strings[:2]}, **{s: "DELTA_LENGTH_BYTE_ARRAY" for s in strings[2:]},
                                       "level": "DELTA_BINARY_PACKED", "extra_info.n": "DELTA_BINARY_PACKED", "ok": "RLE"}),
        "old_lists": dict(use_compliant_nested_type=False), "version_1": dict(version="1.0"),
        "brotli": dict(compression="brotli"), "lz4": dict(compression="lz4"),
    }
    for name, options in files.items():
        pq.write_table(table, folder / f"{name}.parquet", **options)
        assert pq.read_table(folder / f"{name}.parquet").num_rows == 24
    large = table.set_column(0, "data_source", table["data_source"].cast(pa.large_string()))
    pq.write_table(large, folder / "large_string.parquet", store_schema=True)
    pq.write_table(table.slice(0, 0), folder / "empty.parquet")


if __name__ == "__main__":
    main()
