#!/bin/sh
# Builds the fuzz target with clang and runs it on one core: tests/fuzz/run.sh RUNS [SEED] [plain|address] [MAX_LEN]
# "plain" leaves AddressSanitizer out: faster, and time and memory are those of the real program.
# -entropic=0: with a corpus of thousands the entropic schedule takes two thirds of all time for its bookkeeping.
# The corpus grows in build/fuzz/corpus; every chunk's count goes to build/fuzz/executions.txt.
set -eu
cd "$(dirname "$0")/../.."
runs=${1:-1000000}
seed=${2:-1}
folder=build/fuzz
sanitizers=fuzzer,address
if [ "${3:-}" = plain ]; then
  folder=build/fuzz_plain
  sanitizers=fuzzer
fi
if [ ! -f $folder/CMakeCache.txt ]; then
  cmake -S . -B $folder -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER=clang++ \
    -DMINIRL_FUZZ=ON -DMINIRL_FUZZ_SANITIZERS=$sanitizers -DMINIRL_TESTS=OFF -DMINIRL_BENCH=OFF
fi
nice cmake --build $folder --target verifier_fuzz -j1
mkdir -p build/fuzz/corpus build/fuzz/found
n=0
while IFS= read -r line; do
  for head in '\000' '\021' '\377'; do
    n=$((n + 1))
    { printf "$head"; printf '%s' "$line"; } > "build/fuzz/corpus/seed-$n"
  done
done < tests/fuzz/verifier_seeds.txt
status=0
nice -n 10 $folder/tests/fuzz/verifier_fuzz build/fuzz/corpus -runs="$runs" -seed="$seed" \
  -entropic=0 -dict=tests/fuzz/verifier.dict -max_len="${4:-4096}" -timeout=5 -malloc_limit_mb=64 -rss_limit_mb=1024 \
  -artifact_prefix=build/fuzz/found/ -print_final_stats=1 2> build/fuzz/last.log || status=$?
grep -E 'slowest input|number_of_executed_units|too costly|not symmetric|ERROR|SUMMARY' build/fuzz/last.log || true
grep -E 'number_of_executed_units' build/fuzz/last.log | sed "s/\$/ $sanitizers/" >> build/fuzz/executions.txt || true
exit $status
