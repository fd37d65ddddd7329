# The verbs that people type. Everything runs in .venv, which make sets up; without a C++ compiler, make installs zig from PyPI.
PYTHON ?= python3
# ON turns warnings of the C++ compiler into errors; the build remembers it until it is OFF again
STRICT ?=
# paths and options for pytest in make coverage, sanitize and wheel; by default all tests, for wheel only the demo
TESTS ?=
# what make bench measures, or the data sets of make reproduce; by default all
PART ?=
# more options for the commands of make bench and make reproduce
ARGS ?=
PARTS := trees ensembles growth audit audit_kills audit_engines ensemble_growth learners computing_leaves explorer
measure = $(or $(measure.$(1)),$(if $(filter $(1),$(PARTS)),experiments/measurements/$(1).py),$(error PART is $(1); expected $(PARTS)))
measure.trees := -m counterleaf_experiments bench
measure.ensembles := -m counterleaf_experiments bench --part ensembles
measure.computing_leaves := -m counterleaf_experiments.learners
# a file of tests runs in one process, so that its fixtures (a browser, a server, a cluster, models) are made once
WORKERS := -n 2 --dist loadfile --no-loadscope-reorder
SOURCES := $(wildcard cpp/*.?pp cpp/*/*.?pp)
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
# Python compiles what it imports; compiling all packages, of which few are imported, takes pip half a minute
INSTALL := $(PIP) install --quiet --no-compile
CMAKE := $(BIN)/cmake -S . -G Ninja -DCMAKE_MAKE_PROGRAM="$(CURDIR)/$(BIN)/ninja" -DPython_EXECUTABLE="$(CURDIR)/$(BIN)/python"
export ZIG_GLOBAL_CACHE_DIR := $(CURDIR)/.venv/zig

.PHONY: demo test nightly quick coverage core format lint tidy sanitize wheel bench speed reproduce docs clean system

demo:
	@$(MAKE) --no-print-directory -j2 core .venv/run
	$(BIN)/counterleaf demo

# the core compiles while the dependencies install; tests that measure time run alone
test:
	@$(MAKE) --no-print-directory -j3 core .venv/test system
	$(BIN)/python -m pytest -q $(WORKERS) -m "not timed"
	$(BIN)/python -m pytest -q -s -m timed $$(grep -rl --include="*.py" "mark[.]timed" tests)

# the same with all seeds of the random tests, of which make test runs a fifth
nightly:
	@COUNTERLEAF_NIGHTLY=1 $(MAKE) --no-print-directory test

# for daily work: about a minute once everything is installed
quick: core .venv/test
	$(BIN)/python -m pytest -q $(WORKERS) -m "not slow and not browser and not timed" tests

# the lines that the tests run: build/coverage/index.html and build/coverage.xml
coverage: core .venv/dev .venv/java
	$(BIN)/python -m pytest -q $(WORKERS) -m "not browser and not timed" --cov --cov-report=term \
	  --cov-report=html:build/coverage --cov-report=xml:build/coverage.xml $(or $(TESTS),tests)

# after a change in cpp: compile the changed files and put the module next to the Python code
core: .venv/tools
	$(CMAKE) -B build/core $(if $(STRICT),-DCOUNTERLEAF_STRICT=$(STRICT)) >/dev/null
	MAKEFLAGS= $(BIN)/cmake --build build/core
	$(BIN)/cmake --install build/core >/dev/null

format: .venv/dev
	$(BIN)/ruff format .
	$(BIN)/python scripts/write_map.py --write
	$(BIN)/clang-format -i $(SOURCES)

lint: core .venv/dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(SOURCES)
	$(BIN)/python scripts/check_docstrings.py
	$(BIN)/python scripts/write_map.py

# static analysis of the C++ code; takes minutes
tidy: core .venv/tidy
	printf "%s\n" $(filter %.cpp,$(SOURCES)) | xargs -P 2 -n 4 $(BIN)/clang-tidy -p build/core --quiet

# the tests with a core that stops at undefined behaviour and invalid memory accesses; needs GCC
sanitize: .venv/test
	$(CMAKE) -B build/sanitize -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_COMPILER=g++ -DCOUNTERLEAF_SANITIZE=ON >/dev/null
	MAKEFLAGS= $(BIN)/cmake --build build/sanitize
	PYTHONPATH="$(CURDIR)/scripts/sanitized" COUNTERLEAF_CORE="$$(echo "$(CURDIR)"/build/sanitize/_core.*.so)" \
	  ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
	  LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libubsan.so) $$(g++ -print-file-name=libstdc++.so)" \
	  $(BIN)/python -m pytest -q $(WORKERS) -m "not browser and not cluster and not timed" $(or $(TESTS),tests)

# a wheel of less than 2.5 MB (data 0.7, core 0.6, Python and the page 1.1), tested in an environment without a compiler and without this directory
wheel: .venv/tools
	rm -rf dist/*.whl build/empty
	$(PIP) wheel --quiet --no-deps --no-build-isolation --config-settings build-dir=build/wheel --wheel-dir dist .
	ls -l dist/*.whl && test "$$(cat dist/*.whl | wc -c)" -lt 2500000
	$(PYTHON) -m venv build/empty
	PATH="$(CURDIR)/build/empty/bin" && cd build/empty && python -m pip install --quiet "$$(echo "$(CURDIR)"/dist/*.whl)$(if $(TESTS),[test])" && \
	  counterleaf demo
	$(if $(TESTS),PATH="$(CURDIR)/build/empty/bin" && python -m pytest -q -n 2 -m "not browser and not timed" $(TESTS))

# all that is measured, or make bench PART="ensembles growth" ARGS="--rows 5"
bench: core .venv/bench $(if $(filter audit_engines,$(or $(PART),$(PARTS))),.venv/java)
	$(foreach part,$(or $(PART),$(PARTS)),$(BIN)/python $(call measure,$(part)) $(ARGS) &&) true

# what users type, in instructions of valgrind, compared with bench/speed.json; make speed ARGS=--update writes that file
speed: core .venv/test .venv/valgrind
	$(BIN)/python bench/speed.py $(ARGS)

# all data sets of the paper, or make reproduce PART="german breast" ARGS=--quick
reproduce: core .venv/reproduce
	$(BIN)/counterleaf-experiments reproduce $(addprefix --set ,$(PART)) $(ARGS)

# the build runs every example again, because their output depends on the library
docs: core .venv/docs
	rm -rf docs/_build docs/auto_examples
	$(BIN)/sphinx-build -W --keep-going -n -q docs docs/_build/html
	@echo "The documentation: docs/_build/html/index.html"

clean:
	rm -rf .venv build dist docs/_build docs/auto_examples .pytest_cache .mypy_cache .ruff_cache src/counterleaf/_core.*.so
	find src -name __pycache__ -prune -exec rm -rf {} +

# a build tree works only with the Python that created it
.venv/pip:
	rm -rf build
	$(PYTHON) -m venv .venv
	touch $@

# the build tools, and the package without its dependencies and without the core
.venv/tools: .venv/pip pyproject.toml
	$(BIN)/python -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['build-system']['requires'])" | \
	  xargs $(INSTALL) cmake ninja
	@command -v "$${CXX:-c++}" || command -v g++ || command -v clang++ || $(INSTALL) ziglang
	$(INSTALL) --no-deps --no-build-isolation --config-settings wheel.cmake=false --config-settings wheel.platlib=true \
	  --config-settings editable.mode=inplace -e .
	touch $@

.venv/run: .venv/tools
	$(INSTALL) counterleaf
	touch $@

.venv/test .venv/dev .venv/docs: .venv/tools
	$(INSTALL) "counterleaf[$(@F)]"
	touch $@

# the development package of this repository; the tests find it without an installation
.venv/reproduce: .venv/tools experiments/pyproject.toml
	$(INSTALL) --no-build-isolation --config-settings editable.mode=inplace -e "experiments[reproduce]"
	touch $@

.venv/tidy: .venv/pip
	$(INSTALL) clang-tidy
	touch $@

# Chromium without its windows, which takes half the time, where apt-get may install it without a question; or the system's
# Chromium or Chrome; on Debian and Ubuntu, installed if missing
.venv/browser: .venv/pip
	@command -v chromium-headless-shell || { [ "$$(id -u)" = 0 ] && apt-get -qq -o Acquire::Retries=0 update && \
	  apt-get -qq install -y --no-install-recommends chromium-headless-shell fonts-dejavu-core; } 2>/dev/null || \
	command -v chromium || command -v chromium-browser || command -v google-chrome || { \
	  become=; [ "$$(id -u)" = 0 ] || become=sudo; \
	  $$become apt-get -qq update && $$become apt-get -qq install -y --no-install-recommends chromium fonts-dejavu-core; }
	touch $@

# a Java for Spark; on Debian and Ubuntu, installed if missing
.venv/java: .venv/pip
	@command -v java || [ -x "$$JAVA_HOME/bin/java" ] || { \
	  command -v apt-get >/dev/null || { echo "Spark needs Java 17 or later: install one, for example from https://adoptium.net"; exit 1; }; \
	  become=; [ "$$(id -u)" = 0 ] || become=sudo; \
	  $$become apt-get -qq update && $$become apt-get -qq install -y --no-install-recommends default-jre-headless; }
	touch $@

.venv/valgrind: .venv/pip
	@command -v valgrind || { become=; [ "$$(id -u)" = 0 ] || become=sudo; \
	  $$become apt-get -qq update && $$become apt-get -qq install -y --no-install-recommends valgrind; }
	touch $@

# one after the other: apt-get does not run twice at the same time; .venv exists before the two calls of make, which would each create it
system: .venv/pip
	@$(MAKE) --no-print-directory .venv/browser
	@$(MAKE) --no-print-directory .venv/java

# the other packages are large and do not install everywhere; the table marks those that are missing
.venv/bench: .venv/reproduce
	$(INSTALL) "counterleaf-experiments[bench]"
	$(INSTALL) "counterleaf-experiments[bench,peers]" || echo "some of the other packages do not install here; the table will mark them as missing"
	touch $@
