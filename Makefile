# Each target sets up what it needs: a virtual environment in .venv with the versions of
# constraints.txt. PYTHON picks the interpreter (3.11 or newer), VENV another folder.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
# demo: "full" is the real thing (minutes), "smoke" only shows that every step runs.
BUDGET ?= full
DEMO_RUN ?= runs/demo

.PHONY: help setup demo test test-all lint format bench clean

help:
	@echo "make demo      train an attention agent on a distracting environment, film it, report (runs/demo)"
	@echo "make test      the tests"
	@echo "make test-all  the tests, heavy ones included"
	@echo "make lint      ruff, types, import contracts"
	@echo "make bench     the benchmarks (nothing else should run beside them)"

setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "iap_gym needs Python 3.11 or newer; set PYTHON=... (here: $$($(PYTHON) --version 2>&1))"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
		{ echo "Python's venv module is missing; on Debian: apt-get install python3-venv"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[all,dev]"
	@touch $@

demo: setup
	@$(BIN)/iap-gym doctor --quiet
	$(BIN)/python examples/demo.py --budget $(BUDGET) --run $(DEMO_RUN)

test: setup
	@$(BIN)/iap-gym doctor --quiet
	$(BIN)/python -m pytest -n 2 --dist loadfile

test-all: setup
	@$(BIN)/iap-gym doctor --quiet
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "slow or not slow"

lint: setup
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/basedpyright --level error --pythonpath $(BIN)/python
	$(BIN)/lint-imports --no-logo

format: setup
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: setup
	$(BIN)/python benchmarks/distracting.py
	$(BIN)/python benchmarks/attention.py
	$(BIN)/python benchmarks/recurrent.py
	$(BIN)/python benchmarks/ppo.py
	$(BIN)/python benchmarks/planar.py
	$(BIN)/python benchmarks/planar_data.py
	$(BIN)/python benchmarks/raycast.py
	$(BIN)/python benchmarks/quadruped.py
	$(BIN)/python benchmarks/fetch.py
	$(BIN)/python benchmarks/world_model.py

clean:
	rm -rf $(VENV) build dist *.egg-info runs/demo
