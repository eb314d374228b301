# Everything sets itself up: a machine with Python 3.11 (or newer) and pip is enough.
PYTHON ?= python3
BIN = .venv/bin
READY = .venv/.ready
DOCS_READY = .venv/.docs-ready

.PHONY: setup demo test pytest test-lowest fuzz lint ruff mypy bench mutants docs clean

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || (echo "Microveil needs Python 3.11 or newer; call make with PYTHON=..." >&2; exit 1)
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[dev]"
	@touch $(READY)

$(DOCS_READY): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[docs]"
	@touch $(DOCS_READY)

demo: $(READY)
	$(BIN)/microveil demo --out demo-output --force

lint: ruff mypy

ruff: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

mypy: $(READY)
	$(BIN)/mypy

# types are checked on one processor while the first tests run
test: ruff
	@$(MAKE) --no-print-directory --jobs 2 mypy pytest

pytest: $(READY)
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal --doctest-modules src/microveil studies/reproduction

# the lowest versions that pyproject.toml allows, in an environment of their own
test-lowest:
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check --constraint tests/lowest.txt --editable ".[all]" hypothesis pytest pytest-xdist
	.venv-lowest/bin/python -m pytest --numprocesses auto tests/cli/test_cli.py tests/test_parameters.py tests/microdata tests/reporting tests/contracts

# damaged files and nonsense of every kind; see tests/fuzz/run.py
fuzz: $(READY)
	$(BIN)/python tests/fuzz/run.py --cases 10000

bench: $(READY)
	$(BIN)/python benchmarks/run.py

mutants: $(READY)
	$(BIN)/python benchmarks/mutation.py --sample 100

docs: $(DOCS_READY)
	$(BIN)/python docs/generate.py
	$(BIN)/sphinx-build --quiet --fail-on-warning docs docs/_build/html
	@echo "docs/_build/html/index.html"

clean:
	rm -rf .venv .venv-lowest demo-output docs/_build .mypy_cache .ruff_cache .pytest_cache .hypothesis
