#!/bin/sh
# Builds the fuzz target with clang into build/fuzz and runs it: tests/fuzz/run.sh RUNS [SEED]
# The corpus grows in build/fuzz/corpus; every chunk's count goes to build/fuzz/executions.txt.
set -eu
cd "$(dirname "$0")/../.."
runs=${1:-1000000}
seed=${2:-1}
if [ ! -f build/fuzz/CMakeCache.txt ]; then
  cmake -S . -B build/fuzz -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER=clang++ \
    -DMINIRL_FUZZ=ON -DMINIRL_TESTS=OFF -DMINIRL_BENCH=OFF
fi
nice cmake --build build/fuzz --target verifier_fuzz -j1
mkdir -p build/fuzz/corpus build/fuzz/found
n=0
while IFS= read -r line; do
  for head in '\000' '\021' '\377'; do
    n=$((n + 1))
    { printf "$head"; printf '%s' "$line"; } > "build/fuzz/corpus/seed-$n"
  done
done < tests/fuzz/verifier_seeds.txt
status=0
nice -n 10 build/fuzz/tests/fuzz/verifier_fuzz build/fuzz/corpus -runs="$runs" -seed="$seed" \
  -dict=tests/fuzz/verifier.dict -max_len=4096 -timeout=5 -malloc_limit_mb=64 -rss_limit_mb=1024 \
  -artifact_prefix=build/fuzz/found/ -print_final_stats=1 2> build/fuzz/last.log || status=$?
grep -E 'slowest input|number_of_executed_units|too costly|not symmetric|ERROR|SUMMARY' build/fuzz/last.log || true
grep -E 'number_of_executed_units' build/fuzz/last.log >> build/fuzz/executions.txt || true
exit $status
