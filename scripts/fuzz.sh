#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fuzzes every target, or those named, for some seconds each: fuzz.sh SECONDS [TARGET...]
# What is learnt stays in build/fuzz/corpus; an input that breaks something is written to build/fuzz/found, and the run fails.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:?usage: fuzz.sh SECONDS [TARGET...]}
shift
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then mapfile -t targets < <(sed -n 's/^    {"\([a-z_]*\)".*/\1/p' fuzz/targets.cpp); fi

cmake --preset fuzz >/dev/null
cmake --build --preset fuzz
mkdir -p build/fuzz/found
failed=()
for target in "${targets[@]}"; do
  learnt=build/fuzz/corpus/$target
  mkdir -p "$learnt" fuzz/corpus/"$target"  # git keeps no empty folder
  echo "== $target"
  # The time of one input is generous: sanitizers slow it, and so does a busy machine.
  build/fuzz/fuzz/fuzz_"$target" "$learnt" fuzz/corpus/"$target" tests/data tests/cases/files -dict=fuzz/assay.dict -max_total_time="$seconds" \
    -max_len=16384 -timeout=20 -rss_limit_mb=1024 -print_final_stats=1 -verbosity=1 -artifact_prefix=build/fuzz/found/"$target"- \
    2>"$learnt.log" || failed+=("$target")
  grep -E 'stat::(number_of_executed_units|average_exec_per_sec|peak_rss_mb)|ERROR|SUMMARY|broken promise' "$learnt.log" || true
done
if [ ${#failed[@]} -gt 0 ]; then
  echo "broken: ${failed[*]}; the inputs are in build/fuzz/found" >&2
  exit 1
fi
