# The few verbs people type. Everything runs in .venv and installs what it needs; where there is no C++ compiler, that is zig.
PYTHON ?= python3
# ON: a warning of the C++ compiler is an error; remembered until it is OFF again
STRICT ?=
# what make sanitize and make wheel run: by default all but the browser's, and the demo
TESTS ?=
SOURCES := $(wildcard cpp/*.?pp cpp/*/*.?pp)
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
CMAKE := $(BIN)/cmake -S . -G Ninja -DCMAKE_MAKE_PROGRAM="$(CURDIR)/$(BIN)/ninja" -DPython_EXECUTABLE="$(CURDIR)/$(BIN)/python"
export ZIG_GLOBAL_CACHE_DIR := $(CURDIR)/.venv/zig

.PHONY: demo test core format lint tidy sanitize wheel bench reproduce docs clean

demo:
	@$(MAKE) --no-print-directory -j2 core .venv/run
	$(BIN)/counterleaf demo

# the core is compiled while the rest is installed; what measures time runs alone
test:
	@$(MAKE) --no-print-directory -j3 core .venv/test .venv/browser
	$(BIN)/python -m pytest -q -n 2 --dist worksteal -m "not timed"
	$(BIN)/python -m pytest -q -s -m timed tests/test_explorer_page.py

# after a change in cpp: compile what changed and put the module next to the Python code
core: .venv/tools
	$(CMAKE) -B build/core $(if $(STRICT),-DCOUNTERLEAF_STRICT=$(STRICT)) >/dev/null
	MAKEFLAGS= $(BIN)/cmake --build build/core
	$(BIN)/cmake --install build/core >/dev/null

format: .venv/dev
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(SOURCES)

lint: .venv/dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(SOURCES)

# what a second compiler finds in the C++ code; takes minutes
tidy: core .venv/tidy
	printf "%s\n" $(filter %.cpp,$(SOURCES)) | xargs -P 2 -n 4 $(BIN)/clang-tidy -p build/core --quiet

# the tests with a core that stops at undefined behaviour and at wrong memory accesses; needs GCC
sanitize: .venv/test
	$(CMAKE) -B build/sanitize -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_COMPILER=g++ -DCOUNTERLEAF_SANITIZE=ON >/dev/null
	MAKEFLAGS= $(BIN)/cmake --build build/sanitize
	PYTHONPATH="$(CURDIR)/scripts/sanitized" COUNTERLEAF_CORE="$$(echo "$(CURDIR)"/build/sanitize/_core.*.so)" \
	  ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
	  LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libubsan.so) $$(g++ -print-file-name=libstdc++.so)" \
	  $(BIN)/python -m pytest -q -n 2 --dist worksteal -m "not browser and not timed" $(or $(TESTS),tests)

# a wheel of less than 2 MB, tried in an environment that has no compiler and nothing of this folder
wheel: .venv/tools
	rm -rf dist/*.whl build/empty
	$(PIP) wheel --quiet --no-deps --no-build-isolation --config-settings build-dir=build/wheel --wheel-dir dist .
	ls -l dist/*.whl && test "$$(cat dist/*.whl | wc -c)" -lt 2000000
	$(PYTHON) -m venv build/empty
	PATH="$(CURDIR)/build/empty/bin" && cd build/empty && python -m pip install --quiet "$$(echo "$(CURDIR)"/dist/*.whl)$(if $(TESTS),[test])" && \
	  counterleaf demo
	$(if $(TESTS),PATH="$(CURDIR)/build/empty/bin" && python -m pytest -q -n 2 -m "not browser and not timed" $(TESTS))

bench: core .venv/bench
	$(BIN)/counterleaf bench
	$(BIN)/python bench/growth.py
	$(BIN)/python bench/learners.py

reproduce: core .venv/reproduce
	$(BIN)/counterleaf reproduce

# every example is run anew: what they print depends on the library too
docs: core .venv/docs
	rm -rf docs/_build docs/auto_examples
	$(BIN)/sphinx-build -W --keep-going -n -q docs docs/_build/html
	@echo "The book: docs/_build/html/index.html"

clean:
	rm -rf .venv build dist docs/_build docs/auto_examples .pytest_cache .mypy_cache .ruff_cache src/counterleaf/_core.*.so
	find src -name __pycache__ -prune -exec rm -rf {} +

# a build tree belongs to the Python that it was made with
.venv/pip:
	rm -rf build
	$(PYTHON) -m venv .venv
	touch $@

# what compiles, and the package without its dependencies and without the core
.venv/tools: .venv/pip pyproject.toml
	$(BIN)/python -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['build-system']['requires'])" | \
	  xargs $(PIP) install --quiet cmake ninja
	@command -v "$${CXX:-c++}" || command -v g++ || command -v clang++ || $(PIP) install --quiet ziglang
	$(PIP) install --quiet --no-deps --no-build-isolation --config-settings wheel.cmake=false --config-settings wheel.platlib=true \
	  --config-settings editable.mode=inplace -e .
	touch $@

.venv/run: .venv/tools
	$(PIP) install --quiet counterleaf
	touch $@

.venv/test .venv/dev .venv/docs .venv/reproduce: .venv/tools
	$(PIP) install --quiet "counterleaf[$(@F)]"
	touch $@

.venv/tidy: .venv/pip
	$(PIP) install --quiet clang-tidy
	touch $@

# the system's Chromium, fetched where there is none
.venv/browser: .venv/pip
	@command -v chromium || command -v chromium-browser || command -v google-chrome || { \
	  become=; [ "$$(id -u)" = 0 ] || become=sudo; \
	  $$become apt-get -qq update && $$become apt-get -qq install -y --no-install-recommends chromium fonts-dejavu-core; }
	touch $@

# the peers are large and not ours: without them the table says so
.venv/bench: .venv/tools
	$(PIP) install --quiet "counterleaf[bench]"
	$(PIP) install --quiet "counterleaf[bench,peers]" || echo "the peers do not install here: they will stand as absent"
	touch $@
