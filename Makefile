# The few verbs people type. Everything runs in .venv and installs what it needs.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lint bench reproduce docs clean

demo: .venv/installed
	$(BIN)/python examples/first_answer.py

test: .venv/test
	$(BIN)/python -m pytest -q -n 2

lint: .venv/dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: .venv/bench
	$(BIN)/counterleaf bench
	$(BIN)/python bench/growth.py
	$(BIN)/python bench/learners.py

reproduce: .venv/reproduce
	$(BIN)/counterleaf reproduce

docs: .venv/installed
	$(BIN)/python -m doctest -o ELLIPSIS docs/*.md README.md

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache
	find src -name __pycache__ -prune -exec rm -rf {} +

.venv/pip: 
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	touch $@

.venv/installed: .venv/pip pyproject.toml
	$(BIN)/python -m pip install --quiet -e .
	touch $@

.venv/test .venv/dev .venv/reproduce: .venv/pip pyproject.toml
	$(BIN)/python -m pip install --quiet -e ".[$(@F)]"
	touch .venv/installed $@

# the peers are large and not ours: without them the table says so
.venv/bench: .venv/pip pyproject.toml
	$(BIN)/python -m pip install --quiet -e ".[bench]"
	$(BIN)/python -m pip install --quiet -e ".[bench,peers]" || echo "the peers do not install here: they will stand as absent"
	touch .venv/installed $@
