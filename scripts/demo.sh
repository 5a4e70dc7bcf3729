#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds assay, writes a small synthetic mixture-of-experts model in two formats, and looks at it.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
scripts/install_deps.sh build
cmake --preset release >/dev/null
cmake --build --preset release --target assay_program
assay=$PWD/build/release/assay
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

show() {
  echo
  echo "\$ $*"
  "$@"
}
export PATH="$(dirname "$assay"):$PATH"
show assay synth model.safetensors --dtype bf16
show assay synth model.pt --dtype f32
show assay info model.safetensors
show assay tree model.pt
show assay stats model.safetensors model.layers.0.block_sparse_moe.experts.0
show assay head model.safetensors lm_head.weight
echo
echo "the program is build/release/assay; try: build/release/assay --help"

# The page needs Node and the WebAssembly compiler besides; where they are it is built too.
has() { for program; do command -v "$program" >/dev/null || return 1; done; }
page=$root/web/dist/assay.html
if [ ! -f "$page" ] && has node npm clang++-19 wasm-ld-19 && [ -f /usr/lib/wasm32-wasi/libc++.a ]; then
  echo "building the page; this takes a few minutes"
  make -C "$root" -s web >/dev/null 2>&1 || echo "the page could not be built; see: make web" >&2
fi
if [ -f "$page" ]; then echo "the page is $page; open it in a browser and drop a checkpoint on it"
else echo "the page is built by: make web (after scripts/install_deps.sh test)"; fi
