# Reads the event files of a run with TensorBoard's own loader and compares every scalar with
# metrics.jsonl. Needs `pip install tensorboard`. Usage: event_files.py runs/NAME
# Seen with tensorboard 2.21.0 on a run of 6 pretraining and 4 train steps with TRL's names, and again
# after its last checkpoint was removed and the run resumed (two event files):
#   79 tags, 317 points; missing 0, extra 0, different 0
import json
import math
import struct
import sys
from pathlib import Path

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

run = Path(sys.argv[1])
events = EventAccumulator(str(run), size_guidance={"scalars": 0})
events.Reload()
tags = events.Tags()["scalars"]
got = {(tag, e.step): e.value for tag in tags for e in events.Scalars(tag)}
points = sum(len(events.Scalars(tag)) for tag in tags)
assert points == len(got), "a step is there twice"


def fp32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


want = {}
for line in (run / "metrics.jsonl").read_text().splitlines():
    row = json.loads(line)
    if row["kind"] == "run":
        continue
    for key, value in row.items():
        if key in ("kind", "step", "nonfinite"):
            continue
        tag = key if row["kind"] != "pretrain" or key.startswith("pretrain/") else "pretrain/" + key
        want[tag, row["step"]] = math.nan if value is None else value
missing = set(want) - set(got)
extra = set(got) - set(want)
wrong = [k for k in want if k in got and not (math.isnan(want[k]) or fp32(want[k]) == got[k])]
print(f"{len(tags)} tags, {points} points; missing {len(missing)}, extra {len(extra)}, different {len(wrong)}")
sys.exit(1 if missing or extra or wrong else 0)
