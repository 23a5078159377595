# `make` alone says what there is. Everything a command needs is installed first, if it is missing.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/trainmaster

# A CI run starts from a fresh clone each time. What it built before is kept outside of it: cargo
# builds our own crates again wherever a file is newer, and the dependencies only when they change.
ifeq ($(CI),true)
export CARGO_TARGET_DIR ?= $(CACHE)/target
endif

.PHONY: help demo forget test test-frameworks test-static test-web check fmt static bench bench-web setup setup-build setup-static setup-tests setup-python web screenshots fuzz

help: ## What you can make
	@echo "Trainmaster. You can make:"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | while IFS='|' read -r name what; do printf '  make %-14s %s\n' "$$name" "$$what"; done

demo: setup-build setup-python ## Start a server, train digits on it with three tasks, watch them side by side
	@scripts/demo.sh

test: check setup-tests ## Every check and every test
	cd bench && python3 -m unittest -q
	cargo test --workspace
	@$(MAKE) test-web

# Where clones share what was built, an earlier one may have left something of our own crates that looks newer than the files of this one.
forget: setup-build
	cargo clean --quiet --package trainmaster --package trainmaster-model

test-web: web setup-tests ## The console: its parts, and every page in a browser
	@scripts/web.sh packages
	cd web && npm test --silent
	cargo build --bin trainmaster
	cd web && npm run --silent e2e

test-frameworks: setup-build setup-tests ## Train with PyTorch too: fetches 3.8 GiB the first time
	cargo test --test frameworks

test-static: setup-static ## Build it as one static file and run that in an empty root: some minutes the first time
	program=$$(scripts/static.sh) && TRAINMASTER_STATIC=$$program cargo test --test static

check: setup-build ## Formatting, clippy with warnings denied, types; and that scripts and examples parse
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	@scripts/check-scripts.sh
	@scripts/web.sh packages
	cd web && npm run --silent check

fmt: ## Format the code
	cargo fmt --all
	@scripts/web.sh packages
	cd web && npm run --silent format

static: setup-static ## The program as one file that needs nothing of the machine it runs on, optimised
	@scripts/static.sh release

web: ## Build the console, from where cargo puts it into the program
	@scripts/web.sh build

screenshots: setup-build setup-tests ## Every page of the console in both languages and themes, into web/screenshots
	@scripts/web.sh packages
	cargo build --bin trainmaster
	cd web && npm run --silent screenshots

bench: setup-build ## Measure against Slurm, task-spooler, pueue, HyperQueue and Ray (ARGS="--help" for choices)
	cargo build --release
	python3 bench/run.py $(ARGS)

bench-web: web setup-build setup-tests ## Measure the console in a browser: first load, long lists, long logs
	@scripts/web.sh packages
	cargo build --release
	cd web && TRAINMASTER_BIN=$(or $(CARGO_TARGET_DIR),$(CURDIR)/target)/release/trainmaster node e2e/bench.mjs $(ARGS)

setup: setup-build setup-tests setup-python ## Install what is missing, and say what

setup-build:
	@scripts/setup.sh build

setup-static:
	@scripts/setup.sh static

setup-tests:
	@scripts/setup.sh tests

setup-python:
	@scripts/setup.sh python

FUZZ_SECONDS ?= 600
fuzz: ## Throw garbage at every reader of job files, 10 CPU minutes each (needs a nightly compiler)
	@scripts/fuzz.sh $(FUZZ_SECONDS)
