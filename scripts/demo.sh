#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds assay, writes a small synthetic mixture-of-experts model in two formats, and looks at it.
set -euo pipefail
cd "$(dirname "$0")/.."
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
