# Everything happens in .venv; `make run` and `make test` set it up on a machine that has python3 and make.
# Only `make test-cuda` needs the CUDA compiler (1 GB, no GPU), and keeps it in .venv-cuda.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
CUDA_BIN := .venv-cuda/bin
CUDA_READY := .venv-cuda/.ready
# Code that looks at every index before it uses it, kept apart from the code that users run.
BOUNDS := NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CURDIR)/.numba_bounds
COMPILED_TESTS := tests/graph tests/cache tests/engine $(wildcard tests/kernels/test_*.py tests/sim/test_unified*.py \
	tests/sim/test_zero_copy*.py) tests/sim/test_events.py tests/sim/test_replay.py

.PHONY: run set-up test test-cuda test-deep search mutants docs check format bench clean

run: $(READY)
	$(BIN)/grapin demo

set-up: $(READY) $(CUDA_READY)

test: $(READY)
	$(BIN)/pytest -n 2 --dist worksteal

test-cuda: $(CUDA_READY)
	$(CUDA_BIN)/pytest tests/cuda -n 2 --dist worksteal

test-deep: $(READY) $(CUDA_READY)
	GRAPIN_PROFILE=deep $(BIN)/pytest -n 2 --dist worksteal -m "deep or not deep"
	GRAPIN_PROFILE=deep $(BOUNDS) $(BIN)/pytest -n 2 --dist worksteal -m "deep or not deep" $(COMPILED_TESTS)
	GRAPIN_PROFILE=deep $(CUDA_BIN)/pytest tests/cuda -n 2 --dist worksteal -m "deep or not deep"

# Streams from graphs without edges, for every program and system: an hour or more. Stopped, it goes on where it was.
search: $(READY)
	mkdir -p records
	$(BIN)/grapin check empty --device cpu --system bounded,grapin,grapin-zc,grapin-page,grapin-recomp \
		--examples 10000 --record records/search.jsonl

# Mutants of store, CPU kernels, model and reference meet the quick tests; stopped, it goes on where it was.
mutants: $(READY)
	nice -n 10 $(BIN)/python tests/mutation/run.py
	$(BIN)/python tests/mutation/run.py --write

docs: $(READY)
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going -c docs/site -d build/doctrees . build/site
	@echo open build/site/index.html

check: $(READY)
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

bench: $(READY)
	$(BIN)/grapin experiments run loading foundation reads latency initial pagerank growth tracing first_answer

$(READY): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $@

$(CUDA_READY): pyproject.toml
	$(PYTHON) -m venv .venv-cuda
	$(CUDA_BIN)/python -m pip install --quiet --upgrade pip
	$(CUDA_BIN)/python -m pip install --quiet --editable ".[cuda-check]"
	touch $@

clean:
	rm -rf .venv .venv-cuda build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .numba_bounds
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
