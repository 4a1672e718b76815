# The commands of the project. The work is in scripts/, so that each can be read and run alone.
# All of them honour CARGO_TARGET_DIR.

SHELL := bash
.DEFAULT_GOAL := help
.PHONY: help up test test-residents lint format generate bench dev setup clean

help: ## what can be done here
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

up: ## build Warren with its page and start it; prints the link (WARREN_ARGS are passed on)
	@scripts/up.sh $(WARREN_ARGS)

test: ## install what is missing, run everything, print the verdict
	@scripts/test.sh

test-residents: ## try real agents with the runner; installs 2 GB of them
	@scripts/residents.sh test

lint: ## format, clippy and the house rules, without tests
	@scripts/lint.sh

format: ## bring all sources into shape
	@cargo fmt --all
	@if [ -d web/node_modules ]; then npm --prefix web run format; fi

generate: ## write the files that are made from code
	@cargo xtask generate
	@if [ -d web/node_modules ]; then npm --prefix web run generate; fi

bench: ## measure, and write docs/benchmarks.md
	@scripts/bench.sh

dev: ## server and page, both with reload
	@scripts/dev.sh

setup: ## install the system packages that the tests need
	@scripts/setup.sh

clean: ## remove what was built (not your data)
	@scripts/postgres.sh stop
	@scripts/docker.sh stop
	@cargo clean
	@rm -rf web/dist web/node_modules
