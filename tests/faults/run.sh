#!/bin/sh
# Plants one fault after another in a copy of the source, builds it, and lets the tools of a user look for it: each fault must
# be caught by the command named beside it, with its exit code and its words. Not part of `make test`: every fault is a build.
# (Faults in the files of a run, and faults that need no build, are in tests/cli, tests/audit and tests/rl.)
# usage: tests/faults/run.sh [WORD]     WORD chooses the faults whose name contains it
set -u
cd "$(dirname "$0")/../.."
only=${1:-}
work=$PWD/build/faults
source=$work/source
binary=$work/build/minirl
mkdir -p "$source" "$work/run"

# The files that git knows, as they are now; unchanged files keep their time, so that only the fault is compiled.
copy() {
  git ls-files | while IFS= read -r file; do
    cmp -s "$file" "$source/$file" || { mkdir -p "$source/$(dirname "$file")" && cp "$file" "$source/$file"; }
  done
}
build() { cmake --build "$work/build" --target minirl -j "${JOBS:-2}" > "$work/build.log" 2>&1 || { tail -n 20 "$work/build.log" | cut -c1-300; return 1; }; }

tiny="train qwen3.toml --overwrite --set model.hidden_size=32 --set model.num_layers=2 --set model.num_heads=2
  --set model.num_kv_heads=1 --set model.head_dim=16 --set model.ffn_size=64 --set pretrain.steps=6 --set pretrain.batch_sequences=8
  --set pretrain.warmup_steps=2 --set rollout.prompts_per_step=4 --set rollout.group_size=4
  --set rollout.max_new_tokens=96 --set reward.truncated_reward=soft --set reward.soft_buffer_tokens=95 --set train.steps=4 --set eval.prompts=6
  --set eval.samples=2 --set eval.every=2 --set checkpoint.every=2 --set runtime.progress=off"
caught=0
missed=0

# fault NAME FILE SED EXIT WORDS COMMAND...: COMMAND must end with EXIT and say WORDS (a regular expression).
fault() {
  name=$1 file=$2 edit=$3 code=$4 words=$5
  shift 5
  case $name in *"$only"*) ;; *) return ;; esac
  cp "$source/$file" "$work/right"
  sed -i "$edit" "$source/$file"
  if cmp -s "$work/right" "$source/$file"; then
    echo "NOT PLANTED  $name: $file has changed, the edit no longer fits"
    missed=$((missed + 1))
    return
  fi
  build || { missed=$((missed + 1)); echo "NOT BUILT  $name"; cp "$work/right" "$source/$file"; return; }
  got=0
  # shellcheck disable=SC2048,SC2086  # words of $tiny are arguments
  (cd "$work/run" && for command in "$@"; do "$binary" $command || exit $?; done) > "$work/out.log" 2>&1 || got=$?
  cp "$work/right" "$source/$file"
  if [ "$got" = "$code" ] && grep -Eq "$words" "$work/out.log"; then
    caught=$((caught + 1))
    echo "caught  $name"
    echo "        exit $got: $(grep -E "$words" "$work/out.log" | head -n 1 | cut -c1-200)"
  else
    missed=$((missed + 1))
    echo "MISSED  $name: exit $got, not $code, or no \"$words\""
    tail -n 5 "$work/out.log"
  fi
}

copy
cmake -S "$source" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1" \
  -DMINIRL_TESTS=OFF -DMINIRL_BENCH=OFF -DMINIRL_CUDA=OFF -DMINIRL_WERROR=OFF > "$work/build.log" || exit 1
build || exit 1

# One forward: what sampling computed and what training computes.
fault "attention sees one key of the future" kernels/attention_forward.cpp 's|i / heads - before + 1;|i / heads - before + 2;|' \
  3 'op [0-9]+ of the forward pass, attention' "verify parity --tokens 20000"
fault "a shared prompt's last keys are not copied" model/kv_cache.cpp 's|^.*to.copy_from(from);$||' \
  3 'prompt of a group .* [1-9]|comparisons differ' "verify parity --tokens 20000"
fault "decoding is one position late" model/sampler.cpp 's|= static_cast<std::int32_t>(position);|= static_cast<std::int32_t>(position + 1);|' \
  4 'first-update ratio' "$tiny"
fault "log mu is recorded at another temperature" model/sampler.cpp 's|{options_.temperature, options_.vocabulary|{options_.temperature * 1.0001, options_.vocabulary|' \
  4 'first-update ratio' "$tiny"
fault "draws depend on what else is being decoded" model/sampler.cpp 's|\.ids\.size()));|.ids.size() + static_cast<std::size_t>(stats_.decode_steps)));|' \
  3 'comparisons differ' "verify parity --tokens 20000"

# Gradients.
fault "RMSNorm backward has a wrong sign" kernels/rmsnorm.h 's|- xr\[i\] \* c)|+ xr[i] * c)|' 3 'rmsnorm.*WRONG' "gradcheck --config qwen3.toml"
fault "SwiGLU backward has a wrong sign" kernels/swiglu.h 's|g\[i\] \* (T(1) - sigma)|g[i] * (T(1) + sigma)|' 3 'swiglu.*WRONG' "gradcheck --config qwen3.toml"
fault "RoPE backward turns forward" autograd/ops/rope.cpp 's|positions, -1);|positions, 1);|' 3 'rope.*WRONG' "gradcheck --config qwen3.toml"
fault "log-prob backward forgets the temperature" kernels/logprob.h 's|log_sum)) \* scale;|log_sum));|' \
  3 'token_logp.*WRONG' "gradcheck --config qwen3.toml --set rollout.temperature=0.8"
fault "DRPO's derivative has a wrong sign" rl/algorithms/drpo.cpp 's|out.dlogp = -t.advantage \* r + size|out.dlogp = -t.advantage * r - size|' \
  3 'drpo, per token.*WRONG' "gradcheck --config qwen3.toml --set algorithm.name=drpo"

# What a training step does.
fault "the baseline is not the group's mean" rl/advantage.cpp 's|sum(rewards) / static_cast<double>(n);|sum(rewards) / static_cast<double>(n + 1);|' \
  4 'group advantages' "$tiny"
fault "the loss mask is one token short" rl/algorithm.cpp 's/token.active = s.loss_mask.empty() || s.loss_mask\[t\] != 0;/token.active = t + 1 < count \&\& (s.loss_mask.empty() || s.loss_mask[t] != 0);/' \
  4 'stop token' "$tiny"
fault "a masked token keeps its gradient" rl/algorithms/masked.cpp 's|if (out.masked()) {|if (false) {|' \
  4 'masked gradient' "$tiny --set algorithm.name=dppo_tv --set algorithm.delta=0.0001 --set train.lr=0.01"
fault "the loss is counted twice" rl/policy_update.cpp 's|report.loss += weight \* r.loss;|report.loss += 2 * weight * r.loss;|' \
  4 'loss shares' "$tiny"

# What makes a run repeatable.
fault "an update depends on how many this process made" rl/optimizer.cpp \
  's|^  ++steps_;|  ++steps_;\n  static int made = 0;\n  report.clip *= 1 - 0.001 * (++made % 5);|' \
  3 'weights|optimizer' "$tiny" "replay runs/qwen3 --step 4 --quiet"
fault "a reward depends on how many were given" rl/rollout.cpp \
  's|^    r.reward = options.weight \* r.verdict.score;|    static int given = 0;\n    r.reward = options.weight * r.verdict.score + 0.001 * (++given % 1000);|' \
  3 'rewards' "$tiny" "replay runs/qwen3 --step 4 --quiet"
fault "a checkpoint forgets the second moments" rl/checkpoint.cpp \
  's|for (auto& \[name, tensor\] : optimizer.state()) { file.read_into(name, tensor); }|for (auto\& [name, tensor] : optimizer.state()) { if (name.find("_sq") == std::string::npos) { file.read_into(name, tensor); } }|' \
  3 'optimizer|moments|differ' "verify resume --kill-at 2"

echo "$caught caught, $missed missed"
[ "$missed" = 0 ]
