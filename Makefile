# make setup   an environment in .venv with everything, at the versions that were tried
# make test    the default tests: offline, a few minutes at most
# make model   the tests that run the embedded weights (fetched on first use)
# make check   formatting, lint, types, import directions, tests
PYTHON ?= python3
BIN ?= .venv/bin
DATA := $(wildcard ../shared/data)
ifneq ($(DATA),)
export CAPTAIN_DATA ?= $(abspath $(DATA))
endif

.PHONY: setup test model lint types imports check
setup:
	$(PYTHON) -m venv .venv
	$(BIN)/pip install -q -c constraints.txt -e ".[dev]"

test:
	$(BIN)/python -m pytest -q

model:
	$(BIN)/python -m pytest -q -m model -n 0 --timeout 900

lint:
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types:
	$(BIN)/mypy

imports:
	$(BIN)/lint-imports

check: lint types imports test
