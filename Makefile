# `make run` starts a host with both plugins; `make test` is what must pass before a change is taken.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := build

# Debian's own interpreter: it is the one that sees python3-zmq and python3-pytest.
PYTHON ?= /usr/bin/python3
PYTEST := $(PYTHON) -m pytest -q -p no:cacheprovider

# Rounds of kill -9 and of seeds in the simulator: `make test-long ROUNDS=500 SEEDS=200000`.
ROUNDS ?= 500
SEEDS ?= 200000

SWIFT_FILES := Package.swift Sources Tests $(wildcard plugins)

.PHONY: run test test-long build docs deps test-deps format lint test-asan test-tsan mutants bench

## Installs what is missing (Debian); silent when nothing is.
deps:
	@.ci/deps

## The same for the tests.
test-deps:
	@.ci/deps test

## The release build of the host, its commands and the plugins. Warnings are errors (see Package.swift).
build: deps
	swift build -c release

## docs/cli.md, from the commands' own help; a test compares it.
docs: build
	.build/release/holdgate help --markdown > docs/cli.md

## A host that starts the bundled plugins itself; Ctrl-C stops them all.
run: build
	@plugins/run.sh

# One recipe, so that `make -j` can't run two SwiftPM at once: they would wait for each other's lock.
test: test-deps lint
	swift build -c release
	.build/release/simulate
	swift build --build-tests
	swift test --skip-build --quiet
	$(PYTEST) Tests/ProcessTests Tests/ReadmeTests

test-long: export HOLDGATE_TEST_ROUNDS := $(ROUNDS)
test-long: export HOLDGATE_TEST_SEEDS := $(SEEDS)
test-long: test

format:
	swift format -i -r $(SWIFT_FILES)

lint: deps
	swift format lint --strict -p -r $(SWIFT_FILES)

# Each sanitizer has its own scratch path: objects of different kinds don't mix.
test-asan: export LSAN_OPTIONS := suppressions=.ci/lsan.supp
test-asan: test-deps
	swift build --build-tests --sanitize=address --scratch-path .build/asan
	swift test --skip-build --quiet --sanitize=address --scratch-path .build/asan

test-tsan: test-deps
	swift build --build-tests --sanitize=thread --scratch-path .build/tsan
	swift test --skip-build --quiet --sanitize=thread --scratch-path .build/tsan
	HOLDGATE_BIN="$(CURDIR)/.build/tsan/debug" TSAN_OPTIONS=halt_on_error=1 \
		$(PYTEST) $(foreach room,ingest plugin kill cli keys supervision http_collector,Tests/ProcessTests/test_$(room).py)

## Twelve ways to break the code, each of which some test must notice.
mutants: test-deps
	$(PYTHON) Tests/Mutants/mutants.py

## Rates and delays on this machine, as ratios within one run; see Benchmarks/README.md.
bench: build test-deps
	$(PYTHON) Benchmarks/end_to_end.py
	$(PYTHON) Benchmarks/commands.py
	$(PYTHON) Benchmarks/ingest.py
	$(PYTHON) Benchmarks/request.py
	$(PYTHON) Benchmarks/keys.py
	$(PYTHON) Benchmarks/http.py
