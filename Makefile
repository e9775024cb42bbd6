# Everything runs in a virtual environment of its own in .venv, which the first target makes.
#
#   make demo     judge a kernel and evolve a faster one   make lint     style, types and the import graph
#   make test     the test suite                          make fuzz     random examples and random kernels
#   make bench    the speed ratios                        make docs     the examples in README.md and docs/ again
#   make adoption    KernelBench files that get a valid baseline, counted
#   make integrity   hostile kernels must be caught, honest ones must pass
#
# PYTHON=... chooses the interpreter (3.11 or newer), TESTS=... the tests to run, JOBS=... how many at once,
# KERNELS=... and SEED=... how many kernels `make fuzz` makes up, and which; TRIES=... how many odd inputs it tries.

SHELL := /bin/sh
VENV := .venv
BIN := $(VENV)/bin
TESTS ?= tests
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
KERNELS ?= 200
TRIES ?= 20000
SEED ?= $(shell date +%s)

# NVIDIA's compiler comes from PyPI when the machine has none. The choice is part of the stamp's name, so
# that `make` installs the wheels when nvcc goes away.
HAVE_NVCC := $(shell command -v nvcc 2>/dev/null || ls "$${CUDA_HOME:-$${CUDA_PATH:-/nonexistent}}/bin/nvcc" 2>/dev/null)
EXTRAS := $(if $(HAVE_NVCC),dev,dev,cuda-compiler)
# References are PyTorch code. This version is the one that the tests ran with; a newer one may bring gigabytes of CUDA.
TORCH := torch==2.13.0
comma := ,
STAMP := $(VENV)/.installed-$(subst $(comma),-,$(EXTRAS))

.PHONY: setup demo test adoption integrity lint fuzz format docs bench clean help

setup: $(STAMP)
	@echo "ready: make demo | make test | make lint | make fuzz | make bench"

help:
	@sed -n '1,10s/^# \{0,1\}//p' Makefile

demo: $(STAMP)
	$(BIN)/evoengineer judge examples/softmax_warp.cu --problem softmax
	$(BIN)/evoengineer evolve softmax --seed 1 --trials 10 --archive build/demo/archive.db
	$(BIN)/evoengineer evolve square --seed 1 --method free --trials 6 --archive build/demo/archive.db
	$(BIN)/evoengineer report --archive build/demo/archive.db --out build/demo/report
	@echo "look at it: $(CURDIR)/build/demo/report/report.html"
	@echo "a language model's run, without a key: $(BIN)/evoengineer evolve kernels91/normalisation_reduction/layer_norm" \
	    "--method free --trials 12 --seed 1 --replay examples/recordings/layer_norm-free.jsonl --match order"

test: $(STAMP)
	@sh scripts/get-chromium.sh
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(TESTS)

adoption: $(STAMP)
	$(BIN)/python scripts/adoption.py tests/problem/kernelbench

integrity: $(STAMP)
	$(BIN)/evoengineer integrity --workers $(JOBS)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_architecture.py

# The tests draw the same examples every time; here they are new ones. Failing kernels go to fuzz-failures/.
fuzz: $(STAMP)
	HYPOTHESIS_PROFILE=random TRIES=$(TRIES) $(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m hypothesis $(TESTS)
	$(BIN)/python -m tests.fuzz.runner --kernels $(KERNELS) --seed $(SEED) --checked

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Puts the present output of each example into README.md and docs/.
docs: $(STAMP)
	$(BIN)/python scripts/refresh_docs.py

bench: $(STAMP)
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMP): pyproject.toml
	@command -v $(CXX) >/dev/null || command -v clang++ >/dev/null || { \
	  echo "No C++ compiler: '$(CXX)' is not on PATH. The simulated GPU and nvcc need one." >&2; \
	  echo "Debian, Ubuntu: apt-get install g++    Fedora: dnf install gcc-c++    Or set CXX." >&2; exit 1; }
	@python=$$(sh scripts/find-python.sh "$(PYTHON)") && \
	if ! $(BIN)/python -m pip --version >/dev/null 2>&1; then \
	  echo "making $(VENV) with $$python"; rm -rf $(VENV); "$$python" -m venv $(VENV); fi
	@$(if $(HAVE_NVCC),,echo "nvcc is neither on PATH nor in CUDA_HOME: installing NVIDIA's compiler from PyPI";) \
	$(BIN)/python -m pip install -qq --disable-pip-version-check '$(TORCH)' --editable '.[$(EXTRAS)]'
	@rm -f $(VENV)/.installed-*
	@touch $@
