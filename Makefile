# `make` lists the targets. All tools run from .venv, which is made and kept up to date as needed.
# make PYTHON=python3.13 …  chooses the interpreter; make test ARGS='-k cohort' and make bench ARGS=… pass arguments on.

MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help venv demo test verify lint format types layers generate generated docs controlplane cluster bench dist sbom licences audit clean FORCE
unexport PYTHONHOME PYTHONPATH

# Tests of daemons mostly wait, so there are more workers than cores. make test WORKERS=0 runs all in one process.
WORKERS ?= 4
BIN := .venv/bin
STAMP := .venv/.stamp
TYPED := $(wildcard admission kueue_dqo orchestrator providers tests bench scripts)

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  \1|\2/p' Makefile | awk -F'|' '{ printf "%-12s %s\n", $$1, $$2 }'

# FORCE comes from `check` where .venv is unusable, whatever the age of the stamp.
$(STAMP): pyproject.toml requirements-dev.lock scripts/setup-venv.sh $(shell PYTHON="$(PYTHON)" sh scripts/setup-venv.sh check)
	@sh scripts/setup-venv.sh build

venv: $(STAMP) ## make .venv, or bring it up to date
	@echo 'venv: .venv is ready'

demo: $(STAMP) ## plan every example
	@set -e; for folder in examples/[0-9]*/; do \
	  folder=$${folder%/}; \
	  [ -d "$$folder" ] || { echo 'demo: no folder in examples/' >&2; exit 1; }; \
	  printf '\n== %s\n\n' "$$folder"; \
	  $(BIN)/dqo plan -f "$$folder"; \
	done

verify: lint types layers generated docs test ## everything that must pass before a change is merged

lint: $(STAMP) ## style: ruff check, ruff format, hadolint
	@echo 'lint: ruff check, ruff format --check, hadolint'
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/hadolint docker/Dockerfile

format: $(STAMP) ## rewrite: import order, layout
	@echo 'format: ruff'
	@$(BIN)/ruff check --quiet --select I --fix .
	@$(BIN)/ruff format --quiet .

types: $(STAMP) ## types: mypy
	@echo 'types: mypy $(TYPED)'
	@$(BIN)/mypy --no-error-summary $(TYPED)

layers: $(STAMP) ## who imports whom: import-linter
	@echo 'layers: lint-imports'
	@report=$$($(BIN)/lint-imports --no-logo 2>&1) || { printf '%s\n' "$$report"; exit 1; }

generate: $(STAMP) ## write the generated files
	@$(BIN)/python scripts/generate.py

generated: $(STAMP) ## generated files are what the generator writes
	@echo 'generated: scripts/generate.py --check'
	@$(BIN)/python scripts/generate.py --check

controlplane: $(STAMP) ## build what tests run against: kube-apiserver, etcd, Kueue (once, some 20 minutes)
	@$(BIN)/python -m tests.controlplane build

cluster: $(STAMP) ## a control plane with Kueue and an example to try things on, until Ctrl-C (ARGS=bare: without this project)
	@$(BIN)/python -m tests.controlplane cluster $(ARGS)

docs: $(STAMP) ## the documentation as pages, in dist/site; links are checked
	@echo 'docs: sphinx-build'
	@$(BIN)/sphinx-build --quiet --fail-on-warning --fresh-env -c docs -b html . dist/site

test: $(STAMP) controlplane ## tests: pytest
	@echo 'test: pytest, $(WORKERS) at a time'
	@$(BIN)/pytest -n $(WORKERS) --dist worksteal $(ARGS)

bench: $(STAMP) ## measure
	@$(BIN)/python -m bench $(ARGS)

dist: $(STAMP) ## the wheel and the source distribution of the last commit, in dist
	@$(BIN)/python -m scripts.release.dist $(ARGS)

sbom: $(STAMP) ## what the image and the wheel consist of, as CycloneDX, in dist
	@$(BIN)/python -m scripts.release.sbom $(ARGS)

licences: $(STAMP) ## the licences of what is shipped, checked
	@$(BIN)/python -m scripts.release.licences

audit: $(STAMP) ## known vulnerabilities of what is pinned, from a database on the network
	@$(BIN)/python -m scripts.release.audit $(ARGS)

clean: ## remove .venv, caches and builds
	@echo 'clean: .venv, caches, builds'
	@rm -rf .venv .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache build dist
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
