# Two commands do everything: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := pyproject.toml CMakeLists.txt $(shell find cpp src -type f -not -name '*.pyc')
REPRODUCTION := reproduction/pyproject.toml $(shell find reproduction/src -type f -not -name '*.pyc')
CPP := $(wildcard cpp/*.hpp cpp/*.cpp)

# Data sets: the folder that BUDGETRON_DATA names, or ../shared/data if that is there.
ifneq ($(wildcard ../shared/data),)
export BUDGETRON_DATA ?= $(abspath ../shared/data)
endif

.PHONY: demo test slow search fuzz lint format bench report which pictures sanitize stub clean

demo: $(VENV)/.installed  ## several learners over a real data set
	$(BIN)/python -m budgetron.demo

test: $(VENV)/.developed  ## all tests, and every example in the docs
	$(BIN)/python -m pytest -n auto tests reproduction/tests README.md docs --pyargs budgetron budgetron_reproduction

slow: $(VENV)/.developed  ## what takes minutes: runs that are killed a hundred times
	$(BIN)/python -m pytest -n auto -m slow tests

search: $(VENV)/.developed  ## the tests again, on examples that hypothesis draws anew
	HYPOTHESIS_PROFILE=search $(BIN)/python -m pytest -n auto tests

fuzz: $(VENV)/.developed  ## the svmlight reader on broken text, and forged model files: ten minutes each
	$(BIN)/python fuzz/svmlight.py --minutes 10
	$(BIN)/python fuzz/model_file.py --minutes 10

lint: $(VENV)/.developed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/clang-format --dry-run -Werror $(CPP)

format: $(VENV)/.developed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CPP)

bench: $(VENV)/.benched  ## speed beside the peers, as ratios within one run; ten minutes at most
	$(BIN)/python benchmarks/bench.py

report: $(VENV)/.developed  ## the papers' tables and figures, run again: about half an hour on two cores
	$(BIN)/budgetron-reproduce all --quick --jobs 2 --report reproduction

which: $(VENV)/.installed  ## which algorithm on which data: the table of the README, measured again
	$(BIN)/python benchmarks/which.py

pictures: $(VENV)/.developed  ## the pictures of the README and the documentation
	$(BIN)/python benchmarks/pictures.py

# The same tests with the core built under the address and undefined-behaviour sanitizers, assertions on.
SANITIZED := build/sanitized
sanitize: $(VENV)/.developed
	$(PYTHON) -m venv --clear $(SANITIZED)
	$(SANITIZED)/bin/pip install --quiet --config-settings=cmake.define.BUDGETRON_SANITIZE=ON \
	  --config-settings=build-dir=build/sanitized-objects '.[test]'
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libubsan.so)" \
	  ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 PYTHONMALLOC=malloc \
	  $(SANITIZED)/bin/python -m pytest -n auto -m "not timing and not slow" tests

# The core's type stub, from the built module.
stub: $(VENV)/.developed
	$(BIN)/pip install --quiet nanobind
	$(BIN)/python -m nanobind.stubgen -q -m budgetron._core -o src/budgetron/_core.pyi

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(VENV)/bin/python $(SOURCES)
	$(BIN)/pip install --quiet .
	touch $@

$(VENV)/.developed: $(VENV)/bin/python $(SOURCES) $(REPRODUCTION)
	$(BIN)/pip install --quiet '.[test,lint]' ./reproduction
	touch $@ $(VENV)/.installed

$(VENV)/.benched: $(VENV)/bin/python $(SOURCES)
	$(BIN)/pip install --quiet '.[bench]'
	touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) build dist
