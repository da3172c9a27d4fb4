# Needs Python 3.11 or newer and make; everything else goes into .venv at the versions of dev.lock.
VENV := .venv
BIN := $(VENV)/bin
# An extra of pyproject.toml each; dev contains all others.
CLI := $(VENV)/.installed-cli
TEST := $(VENV)/.installed-test
SPARK := $(VENV)/.installed-spark
DOCS := $(VENV)/.installed-docs
DEV := $(VENV)/.installed-dev
# What is never imported need not be compiled.
INSTALL := $(BIN)/python -m pip install --quiet --no-compile --constraint dev.lock --editable
PYTEST_ARGS ?=
MUTANTS_ARGS ?=
REV ?= HEAD
GROUP ?=
REASON ?=
AXE := 4.14.1
AXE_SHA256 := 29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c
BENCH_ARGS ?=

# Tests start hundreds of processes: without bytecode each compiles the package anew.
unexport PYTHONDONTWRITEBYTECODE

.DELETE_ON_ERROR:
.PHONY: help demo test check affected dev axe golden golden-diff golden-accept mutants lint bench docs generated clean

help:
	@echo "make demo    show what msmq-wire says of a built-in capture"
	@echo 'make test    run the tests in a few minutes, the same at every run (more arguments: PYTEST_ARGS="-k name")'
	@echo "make check   run all of them, none skipped: oracles, a cluster, every capture, random examples"
	@echo "make dev     install the tools of all targets into $(VENV)"
	@echo "make affected  run the tests that your changes can reach (since another revision: REV=main)"
	@echo "make axe     fetch axe-core with npm, with which make check looks at the report"
	@echo "make golden  compare what every command prints of every capture with what it printed before"
	@echo '             what changed, as text: make golden-diff REV=main; keep it: make golden-accept GROUP=messages REASON="why"'
	@echo "make mutants see how many small faults the tests find"
	@echo "make lint    check style, types and layers"
	@echo "make bench   run the benchmarks (shorter: BENCH_ARGS=--quick)"
	@echo "make docs    build the documentation into site/"
	@echo "make generated  write anew what is made from declarations and kept, and name what changed"
	@echo "make clean   remove $(VENV) and what the tools left behind"

demo: $(CLI)
	@$(BIN)/msmq-wire demo

# Spark is 490 MB, and of no use without Java.
test: $(TEST)
	@if $(BIN)/python -m tests.needs "Java 17"; then $(MAKE) --no-print-directory $(SPARK); fi
	$(BIN)/python -m pytest -n auto --dist loadgroup $(PYTEST_ARGS)

# A skipped test is a failure here.
check: $(DEV)
	MSMQ_WIRE_EFFORT=check MSMQ_WIRE_NO_SKIP=1 $(BIN)/python -m pytest -n auto --dist loadgroup $(PYTEST_ARGS)

affected: $(DEV)
	$(BIN)/python -m tests.affected $(REV) $(PYTEST_ARGS)

dev: $(DEV)

# What looks at the report for faults that shut people out: a package of npm, at this version, never committed.
axe: $(VENV)/axe.min.js

$(VENV)/axe.min.js: | $(BIN)/python
	rm -rf $(VENV)/axe && mkdir $(VENV)/axe
	cd $(VENV)/axe && npm pack --silent axe-core@$(AXE) && tar -xzf axe-core-$(AXE).tgz package/axe.min.js
	echo "$(AXE_SHA256)  $(VENV)/axe/package/axe.min.js" | sha256sum --check --quiet
	mv $(VENV)/axe/package/axe.min.js $@ && rm -r $(VENV)/axe

golden: $(DEV)
	$(BIN)/python -m tests.golden check

golden-diff: $(DEV)
	$(BIN)/python -m tests.golden diff $(REV) $(GROUP)

golden-accept: $(DEV)
	$(BIN)/python -m tests.golden accept "$(GROUP)" "$(REASON)"

mutants: $(DEV)
	$(BIN)/python -m tests.mutants $(MUTANTS_ARGS)

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(DEV)
	$(BIN)/python -m benchmarks $(BENCH_ARGS)

docs: $(DOCS)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

generated: $(DEV)
	$(BIN)/python -m fixtures.generated

clean:
	rm -rf $(VENV) .coverage* .hypothesis .import_linter_cache .mutants .mypy_cache .pytest_cache .ruff_cache build dist site

# A name on PATH may be a stub without an interpreter behind it, or too old: ask it before trusting it.
$(BIN)/python:
	@for python in $(PYTHON) python3.11 python3 python3.12 python3.13 python3.14; do \
	    if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	        echo "$$python -m venv $(VENV)"; \
	        exec "$$python" -m venv $(VENV); \
	    fi; \
	done; \
	echo "Python 3.11 or newer is needed; name one with make PYTHON=/path/to/python" >&2; \
	exit 1

$(CLI): pyproject.toml dev.lock | $(BIN)/python
	$(INSTALL) '.[cli]'
	@touch $@

$(TEST): pyproject.toml dev.lock | $(BIN)/python
	$(INSTALL) '.[test]'
	@touch $@ $(CLI)

$(SPARK) $(DOCS): $(VENV)/.installed-%: pyproject.toml dev.lock | $(BIN)/python
	$(INSTALL) '.[$*]'
	@touch $@

$(DEV): pyproject.toml dev.lock | $(BIN)/python
	$(INSTALL) '.[dev]'
	@touch $@ $(CLI) $(TEST) $(SPARK) $(DOCS)
