#!/bin/sh
# The promise of the README: from nothing to a trained policy. For each seed given, the default run must go from
# avg@8 <= 0.40 to >= 0.90 on held-out problems.  usage: tests/default_run.sh BINARY SEED...
set -eu
binary=$(realpath "$1")
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
value() { sed -n '/"avg_at_k"/,/}/s/.*"value": \([0-9.e-]*\).*/\1/p' "$1"; }
status=0
for seed in "$@"; do
  begin=$(date +%s)
  "$binary" train qwen3.toml --run-name "seed$seed" --set "run.seed=$seed" --set runtime.progress=off >log 2>&1 || { cat log; exit 1; }
  last=$(ls runs/"seed$seed"/eval | tail -n 1)
  before=$(value "runs/seed$seed/eval/step-000000.json")
  after=$(value "runs/seed$seed/eval/$last")
  echo "seed $seed: avg@8 $before -> $after in $(($(date +%s) - begin)) s, weights $(sed -n 's/.*"weights_hash": "\(.*\)".*/\1/p' runs/"seed$seed"/checkpoints/"${last%.json}"/progress.json)"
  awk -v b="$before" -v a="$after" 'BEGIN { exit !(b <= 0.40 && a >= 0.90) }' || { echo "seed $seed: before <= 0.40 and after >= 0.90 does not hold"; status=1; }
done
exit $status
