# The few verbs people type. Everything runs in .venv and installs what it needs.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lint bench reproduce docs clean

demo: .venv/installed
	$(BIN)/counterleaf demo

# kernels are compiled once, not by every worker, and while the rest is installed; what measures time runs alone
test: .venv/installed
	$(BIN)/python -m counterleaf.warm tables table-batches & $(BIN)/python -m counterleaf.warm numbers images learning batches & \
	  $(MAKE) --no-print-directory .venv/test .venv/browser && wait
	$(BIN)/python -m pytest -q -n 2 --dist worksteal -m "not timed"
	$(BIN)/python -m pytest -q -s -m timed tests/test_explorer_page.py

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

# every example is run anew: what they print depends on the library too
docs: .venv/docs
	rm -rf docs/_build docs/auto_examples
	$(BIN)/sphinx-build -W --keep-going -n -q docs docs/_build/html
	@echo "The book: docs/_build/html/index.html"

clean:
	rm -rf .venv build dist docs/_build docs/auto_examples .pytest_cache .mypy_cache .ruff_cache
	find src -name __pycache__ -prune -exec rm -rf {} +

.venv/pip: 
	$(PYTHON) -m venv .venv
	touch $@

.venv/installed: .venv/pip pyproject.toml
	$(BIN)/python -m pip install --quiet -e .
	touch $@

.venv/test .venv/dev .venv/docs .venv/reproduce: .venv/pip pyproject.toml
	$(BIN)/python -m pip install --quiet -e ".[$(@F)]"
	touch .venv/installed $@

# the system's Chromium, fetched where there is none
.venv/browser: .venv/pip
	@command -v chromium || command -v chromium-browser || command -v google-chrome || { \
	  become=; [ "$$(id -u)" = 0 ] || become=sudo; \
	  $$become apt-get -qq update && $$become apt-get -qq install -y --no-install-recommends chromium fonts-dejavu-core; }
	touch $@

# the peers are large and not ours: without them the table says so
.venv/bench: .venv/pip pyproject.toml
	$(BIN)/python -m pip install --quiet -e ".[bench]"
	$(BIN)/python -m pip install --quiet -e ".[bench,peers]" || echo "the peers do not install here: they will stand as absent"
	touch .venv/installed $@
