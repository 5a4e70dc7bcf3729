# SPDX-License-Identifier: Apache-2.0
# The short way to everything. `make` builds the program: build/release/assay.
.PHONY: build web deps demo test sanitize fuzz bench format format-check tidy docs clean help

build:
	cmake --preset release
	cmake --build --preset release

# The page: web/dist/assay.html. Needs Node and, for the core, clang 19 for wasm32-wasi (make deps).
web:
	cmake --preset wasm
	cmake --build --preset wasm
	cd web && { [ -d node_modules ] || npm ci --no-fund --no-audit; } && node_modules/.bin/tsc -p . && node build.mjs

help:
	@echo "make build         the program, build/release/assay"
	@echo "make web           the page, web/dist/assay.html: drag a checkpoint in"
	@echo "make demo          build it and show it on a small synthetic model"
	@echo "make test          every test; the last line counts them"
	@echo "make sanitize      the same, and the tests under ASan and UBSan"
	@echo "make fuzz          every fuzz target for SECONDS=60 each, under ASan and UBSan"
	@echo "make bench         the benchmarks, as ratios, into bench/results"
	@echo "make format        lay the sources out with clang-format 19"
	@echo "make format-check  fail when that would change anything"
	@echo "make tidy          clang-tidy 19 over src"
	@echo "make deps          install the Debian packages that are missing"
	@echo "make docs          write docs/commands.md from the table of commands"
	@echo "make clean         remove build/"

deps:
	scripts/install_deps.sh all

demo:
	@scripts/demo.sh

test:
	@scripts/test.sh

sanitize:
	@ASSAY_SANITIZERS=1 scripts/test.sh

SECONDS = 60
fuzz:
	scripts/install_deps.sh all
	scripts/fuzz.sh $(SECONDS)

bench:
	scripts/install_deps.sh build
	cmake --preset bench
	cmake --build --preset bench
	status=0; build/bench/numbers_bench || status=1; python3 bench/list.py --assay build/bench/assay || status=1; exit $$status

SOURCES = $(shell find src include tests bindings bench fuzz -name '*.cpp' -o -name '*.hpp' -o -name '*.c' -o -name '*.h' 2>/dev/null)

format:
	clang-format-19 -i $(SOURCES)

format-check:
	clang-format-19 --dry-run -Werror $(SOURCES)

tidy:
	cmake --preset dev
	run-clang-tidy-19 -quiet -p build/dev "$(CURDIR)/src/.*"

docs: build
	build/release/assay --generate markdown > docs/commands.md

clean:
	rm -rf build
