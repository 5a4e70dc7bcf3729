#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every test: the dev build with all of ctest (WebAssembly and the installed package among it), the core without exceptions, and with
# ASSAY_SANITIZERS=1 (`make sanitize`) the tests under the sanitizers. The last line is "N passed, N failed, N skipped"; the status is 0 when none failed.
set -uo pipefail
cd "$(dirname "$0")/.."
passed=0 failed=0 skipped=0
failures=()

# quietly LOG COMMAND...: its output is shown only when it fails.
quietly() {
  local log=$1
  shift
  mkdir -p "$(dirname "$log")"
  if "$@" >"$log" 2>&1; then return 0; fi
  tail -n 60 "$log"
  return 1
}

# step NAME COMMAND...: one build as one test.
step() {
  local name=$1 started=$SECONDS
  shift
  echo "== $name"
  if quietly "build/logs/$name.log" "$@"; then
    passed=$((passed + 1))
    echo "   ok, $((SECONDS - started)) s"
    return 0
  fi
  failed=$((failed + 1))
  failures+=("$name")
  return 1
}

build() { cmake --preset "$1" && cmake --build --preset "$1" "${@:2}"; }

# run_ctest PRESET [ARGUMENT...]: every test of a build, counted from ctest's report.
run_ctest() {
  local preset=$1 report="$PWD/build/logs/$1-tests.xml" started=$SECONDS counts
  shift
  echo "== $preset tests"
  rm -f "$report"
  ctest --preset "$preset" -j "$(nproc)" --output-junit "$report" "$@" >"build/logs/$preset-ctest.log" 2>&1
  local status=$?
  counts=$(python3 - "$report" <<'PYTHON'
import sys, xml.etree.ElementTree as xml
cases = list(xml.parse(sys.argv[1]).getroot().iter("testcase"))
bad = [c.get("name") for c in cases if c.find("failure") is not None]
skip = [c.get("name") for c in cases if c.find("failure") is None and (c.find("skipped") is not None or c.get("status") in ("notrun", "disabled"))]
print(len(cases) - len(bad) - len(skip), len(bad), len(skip), *bad)
PYTHON
  ) || counts=""
  if [ -z "$counts" ]; then
    tail -n 40 "build/logs/$preset-ctest.log"
    failed=$((failed + 1))
    failures+=("$preset: ctest did not run")
    return
  fi
  local ok bad skip names
  read -r ok bad skip names <<<"$counts"
  if [ "$status" -ne 0 ] || [ "$bad" -ne 0 ] || [ "$ok" -eq 0 ]; then
    tail -n 200 "build/logs/$preset-ctest.log"
    if [ "$bad" -eq 0 ]; then bad=1; fi
    failures+=("$preset: ${names:-ctest failed}")
  fi
  echo "   $ok passed, $bad failed, $skip skipped in $((SECONDS - started)) s"
  passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + skip))
}

mkdir -p build/logs
step build-dev build dev && run_ctest dev
step build-noexcept build noexcept --target assay
if [ "${ASSAY_SANITIZERS:-0}" = 1 ]; then step build-asan build asan && run_ctest asan; fi

for failure in "${failures[@]+"${failures[@]}"}"; do echo "failed: $failure"; done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
