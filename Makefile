# Everything a developer types. `make help` lists it.
#
# A fresh machine needs Python 3.11 or newer and make; the rest comes from the package registry, pinned with hashes
# in requirements.lock. Pick another Python with `make PYTHON=python3.12 …`.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
BASELINE := protos/baseline.binpb
# Arguments for the tests: make test ARGS='tests/unit -k edge'
ARGS ?=

.PHONY: help
help: ## List what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: $(READY) ## Start everything and file an application, from the first page to the record
	@$(BIN)/canopy demo

.PHONY: up
up: $(READY) ## Start everything on this machine; prints the addresses
	@$(BIN)/canopy up

.PHONY: down
down: $(READY) ## Stop what `make up` started; the data stays
	@$(BIN)/canopy down

.PHONY: migrate
migrate: $(READY) ## Bring the databases of `make up` to the newest schema
	@$(BIN)/canopy migrate

.PHONY: test
test: $(READY) ## Run the tests (ARGS='…' goes to pytest)
	@$(BIN)/pytest $(ARGS)

.PHONY: lint
lint: lint-contract lint-code ## Check the contract, what is generated from it, and the code

.PHONY: lint-contract
lint-contract: $(READY) ## The part of lint that looks at protos/ and at what is generated
	@$(BIN)/python protos/generate.py --check
	@$(BIN)/buf lint
	@$(BIN)/buf format --diff --exit-code protos
	@mkdir -p build && $(BIN)/buf build protos -o build/contract.binpb
	@$(BIN)/buf breaking build/contract.binpb --against $(BASELINE)
	@$(BIN)/python deploy/envoy/render.py --check
	@$(BIN)/python docs/render.py --check

.PHONY: lint-code
lint-code: $(READY) ## The part of lint that looks at the Python
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/basedpyright --warnings
	@$(BIN)/lint-imports

.PHONY: format
format: $(READY) ## Write the code and the contract in the one style
	@$(BIN)/ruff check --fix --silent || true
	@$(BIN)/ruff format
	@$(BIN)/buf format --write protos

.PHONY: gen
gen: $(READY) ## Generate gen/, the edge's configuration and docs/configuration.md
	@$(BIN)/python protos/generate.py
	@$(BIN)/python deploy/envoy/render.py
	@$(BIN)/python docs/render.py

.PHONY: baseline
baseline: $(READY) ## At a release: make today's contract the one that must not be broken
	@$(BIN)/buf build protos --exclude-source-info -o $(BASELINE)

.PHONY: wheel
wheel: $(READY) ## Build dist/canopy-*.whl
	@$(BIN)/uv build --wheel --no-build-isolation --out-dir dist --quiet

.PHONY: lock
lock: $(READY) ## Resolve the dependencies of pyproject.toml into requirements.lock
	@$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --extra embedded --group dev \
	  pyproject.toml -o requirements.lock

.PHONY: setup
setup: $(READY) ## Make .venv with everything in it (the other targets do it when needed)

.PHONY: clean
clean: ## Remove .venv and what tools leave behind; the data of `make up` stays
	@rm -rf $(VENV) dist build .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# uv itself is in requirements.lock, so pip can check its hash as well.
$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	  || { echo "canopy: needs Python 3.11 or newer, and $(PYTHON) is not." \
	       "Name another: make PYTHON=python3.12 …" >&2; exit 1; }
	@if ! $(BIN)/python -c '' 2>/dev/null; then \
	  echo "Making $(VENV)"; \
	  $(PYTHON) -m venv --clear $(VENV) >/dev/null \
	    || { echo "canopy: $(PYTHON) cannot make a virtual environment (on Debian: apt install python3-venv)." >&2; \
	         rm -rf $(VENV); exit 1; }; \
	fi
	@if ! $(BIN)/uv --version >/dev/null 2>&1; then \
	  sed -n '/^uv==/,/^[^ ]/{/^uv==/p;/^ /p}' requirements.lock > $(VENV)/uv.lock; \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r $(VENV)/uv.lock; \
	fi
	@echo "Installing what requirements.lock names"
	@$(BIN)/uv pip sync --quiet --python $(BIN)/python --require-hashes requirements.lock
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@
