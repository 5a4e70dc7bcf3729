# SPDX-License-Identifier: Apache-2.0
.PHONY: build
build:
	cmake --preset release
	cmake --build --preset release
