#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages (12 or 13) that are missing: install_deps.sh [build | test | all]
# As root, or where sudo asks for no password, it installs; otherwise it says the exact command and fails.
set -euo pipefail
cd "$(dirname "$0")/.."

build=(make g++ cmake ninja-build pkg-config python3 libdeflate-dev liblzma-dev libbz2-dev rapidjson-dev libfmt-dev libcli11-dev libhwy-dev libssl-dev)
test=(libgtest-dev ccache clang-19 lld-19 libc++-19-dev-wasm32 libclang-rt-19-dev-wasm32 wasi-libc binaryen clang-format-19
      chromium firefox-esr webkit2gtk-driver xvfb)
# Node may come from elsewhere than Debian, npm with it.
if ! command -v node >/dev/null; then test+=(nodejs); fi
if ! command -v npm >/dev/null; then test+=(npm); fi
develop=(libbenchmark-dev clang-tidy-19 libclang-rt-19-dev)

case "${1:-all}" in
  build) wanted=("${build[@]}") ;;
  test) wanted=("${build[@]}" "${test[@]}") ;;
  all) wanted=("${build[@]}" "${test[@]}" "${develop[@]}") ;;
  *) echo "usage: install_deps.sh [build | test | all]" >&2; exit 2 ;;
esac

# The modules that the page is built and tested with, by the lock file of web/. Without them those tests are skipped.
web_modules() {
  if [ "$1" = build ] || [ -d web/node_modules ] || ! command -v npm >/dev/null; then return 0; fi
  echo "installing the modules of web/"
  (cd web && npm ci --no-audit --no-fund >/dev/null 2>&1) || echo "npm ci failed: the page's tests will be skipped" >&2
}

missing=()
for package in "${wanted[@]}"; do
  status=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
  if [ "$status" != "install ok installed" ]; then missing+=("$package"); fi
done
if [ ${#missing[@]} -eq 0 ]; then
  web_modules "${1:-all}"
  exit 0
fi

if ! command -v apt-get >/dev/null; then
  echo "these Debian packages (or what your system calls them) are needed: ${missing[*]}" >&2
  exit 1
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! sudo -n true 2>/dev/null; then
    echo "some packages are missing; install them with:" >&2
    echo "  sudo apt-get install -y --no-install-recommends ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
echo "installing: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
web_modules "${1:-all}"
