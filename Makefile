# Every target sets up its own virtual environment; nothing needs to be installed by hand but Python >= 3.11.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Most tests of whole nodes wait more than they compute.
WORKERS ?= 6

.PHONY: demo test bench sim check clean

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $(STAMP)

demo: $(STAMP)
	$(BIN)/python -m fairway.cli.demo $(DEMO)

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: check
	$(BIN)/pytest -n $(WORKERS) --dist worksteal

bench: $(STAMP)
	$(BIN)/python -m benchmarks

# SEEDS histories of a hub and its clusters, from seed FROM on: make sim SEEDS=1000
SEEDS ?= 200
FROM ?= 1
sim: $(STAMP)
	$(BIN)/python -m fairway.sim.fleet --seeds $(FROM)-$$(($(FROM) + $(SEEDS) - 1))

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
