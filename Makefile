PYTHON ?= python3
BIN := .venv/bin
RUN_DIR ?= runs/demo

.PHONY: demo test lint bench setup

setup: .venv/ready

.venv/ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet torch==2.13.0
	$(BIN)/pip install --quiet -e '.[cpu,dev]'
	touch $@

demo: setup
	$(BIN)/rdiverse selfplay recipes/tiny/selfplay.yaml --run-dir $(RUN_DIR)

test: setup
	$(BIN)/pytest

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: setup
	for file in benchmarks/*.py; do echo "== $$file"; $(BIN)/python $$file || exit 1; done
