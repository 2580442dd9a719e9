# Two commands do everything: `make demo` and `make test`. `make help` lists all: a target says behind ## what it does,
# and stands under the last line that begins with ##@.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PACKAGE := src/budgetron
SOURCES := pyproject.toml CMakeLists.txt .ci/install.py .ci/stubs.py $(filter-out %.pyi %.pyc %.md, \
  $(wildcard $(addsuffix /*.*, cpp/* $(PACKAGE) $(PACKAGE)/* $(PACKAGE)/*/*)))
REPRODUCTION := reproduction/pyproject.toml $(filter-out %.pyc, \
  $(wildcard $(addsuffix /*.*, reproduction/src/* reproduction/src/*/* reproduction/src/*/*/*)))
CPP := $(wildcard cpp/*/*.hpp cpp/*/*.cpp tests/portability/*.cpp)

# Data sets: the folder that BUDGETRON_DATA names, or ../shared/data if that is there.
ifneq ($(wildcard ../shared/data),)
export BUDGETRON_DATA ?= $(abspath ../shared/data)
endif

.PHONY: help demo test newcomer slow browser gpu test-random test-environments fuzz any-cut lint format bench growth adversarial \
  report algorithm-table streams pictures sanitize sanitize-threads coverage stub docs sizes clean

.DEFAULT_GOAL := help

##@ First
demo: $(VENV)/.installed  ## the default and other learners over handwritten digits, with pictures
	@$(BIN)/python -m budgetron.cli.demo

help:  ## this list
	@awk -F ':.*## ' '/^##@/ { print "\n" substr($$0, 5) } /^[a-z-]+:.*## / { printf "  %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

test: $(VENV)/.developed  ## all tests, and every example in the docs
	$(BIN)/python -m pytest -n auto --dist worksteal tests reproduction/tests README.md docs --pyargs budgetron budgetron_reproduction

##@ Test
slow: $(VENV)/.developed  ## what takes minutes: runs that are killed a hundred times, whole products of parameters
	$(BIN)/python -m pytest -n auto --dist worksteal -m slow tests reproduction/tests

newcomer: $(VENV)/.developed  ## README and tutorials word by word, after `make demo` with the wheel that is built already
	BUDGETRON_WHEEL="$$(ls $(CURDIR)/build/install/*.whl)" $(PYTHON) .ci/newcomer.py

gpu: $(VENV)/.developed  ## the kernels of device="cuda"; skipped where there is no card or no CuPy
	$(BIN)/python -m pytest -rs tests/learners/cuda

test-random: $(VENV)/.developed  ## the tests again, on random examples that hypothesis has not drawn before
	HYPOTHESIS_PROFILE=search $(BIN)/python -m pytest -n auto --dist worksteal tests

fuzz: $(VENV)/.developed  ## broken svmlight text, forged model files, numbers of every size: ten minutes each
	$(BIN)/python -m fuzz.svmlight --minutes 10
	$(BIN)/python -m fuzz.model_file --minutes 10
	$(BIN)/python -m fuzz.extremes --minutes 10

any-cut: $(VENV)/.developed  ## random streams, cut in random ways: estimators, run --resume, service with kills, replica
	$(BIN)/python -m fuzz.any_cut --streams 10000
	$(BIN)/python -m fuzz.any_cut_run --streams 1000
	$(BIN)/python -m fuzz.any_cut_serve --streams 200

browser: $(VENV)/.developed  ## Chromium without root rights (Debian or Ubuntu), then the tests of the live page in it
	$(BIN)/pip install --quiet 'selenium>=4.20'
	test -e build/browser/usr/bin/chromedriver || .ci/browser
	BUDGETRON_BROWSER=required $(BIN)/python -m pytest tests/serve/test_page.py

test-environments:  ## the tests of HEAD in a private folder, as another user, in the background, on a busy machine
	.ci/test_environments

##@ Pages, linters
docs: $(VENV)/.documented  ## the documentation site in build/docs, with every link checked; no network is needed
	$(BIN)/python docs/site/build.py build/docs

sizes:  ## lines of code by area and room, lengths of functions, uses of private names
	@$(PYTHON) .ci/count_code.py

lint: stub  ## ruff, mypy, import-linter and clang-format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/clang-format --dry-run -Werror $(CPP)

format: $(VENV)/.developed  ## repair what ruff and clang-format can repair
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CPP)

##@ Measure, and write tables and pictures
bench: $(VENV)/.benched  ## speed compared with other libraries, as ratios within one run: a few minutes
	$(BIN)/python -m benchmarks.bench

growth: $(VENV)/.benched  ## how the cost grows with budget, features, nonzeros, classes and rows: numbers and a picture
	$(BIN)/python -m benchmarks.growth

adversarial: $(VENV)/.developed  ## what a step costs on rows made to be slow, compared with ordinary ones: about 20 minutes
	$(BIN)/python -m benchmarks.adversarial

report: $(VENV)/.developed  ## the papers' tables and figures, run again: about half an hour on two cores
	$(BIN)/budgetron-reproduce all --quick --jobs 2 --report reproduction
	$(BIN)/budgetron-reproduce all --costs --report reproduction

algorithm-table: $(VENV)/.installed  ## which algorithm on which data: the table of docs/concepts/which_algorithm.md
	$(BIN)/python -m benchmarks.algorithm_table

# Peers run in an environment of their own. Only what has no result in the files results.jsonl of benchmarks/streams is
# run. The second half is whole streams, up to 581,012 rows; PEER_SECONDS is the most that a peer may take for one of them.
STREAM_ROWS := 5000
PEER_SECONDS := 600
STREAMS = -m benchmarks.streams --rows $(STREAM_ROWS)
WHOLE = -m benchmarks.streams.whole
streams: $(VENV)/.developed .venv-peers/.installed  ## the default compared with other libraries: docs/streams_benchmark.md, whole_streams.md
	.venv-peers/bin/python $(STREAMS) generate
	$(BIN)/python $(STREAMS) prepare
	$(BIN)/python $(STREAMS) ours --missing
	.venv-peers/bin/python $(STREAMS) peers
	$(BIN)/python $(STREAMS) table
	$(BIN)/python $(STREAMS) pictures
	.venv-peers/bin/python $(WHOLE) generate --group all
	$(BIN)/python $(WHOLE) prepare --group all
	$(BIN)/python $(WHOLE) ours --missing --group all
	.venv-peers/bin/python $(WHOLE) peers --seconds $(PEER_SECONDS)
	$(BIN)/python $(WHOLE) page
	$(BIN)/python $(WHOLE) pictures

.venv-peers/.installed:
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/pip install --quiet 'river>=0.22' 'scikit-learn>=1.6' 'lightgbm>=4.5'
	.venv-peers/bin/pip install --quiet 'capymoa>=0.15' || echo "CapyMOA is left out; it also needs Java 17"
	touch $@

pictures: $(VENV)/.developed  ## the pictures of the README and the documentation
	$(BIN)/python -m benchmarks.readme_pictures

# Tests with the core built in another way, in an environment of its own: a debug build, whose reports have names. The
# selection is small because instrumented code is slow: every learner in every layout and precision (tests/model/files),
# the readers, the maps, the numerics.
# `make coverage` reports the native lines that it reaches, `make coverage NATIVE=tests` those that all tests reach.
NATIVE := tests/model/files/test_round_trips.py tests/model/test_one_by_one.py $(wildcard tests/streams/test_*.py) \
  tests/parts/vector_rules $(addprefix tests/core/test_, native.py look_ahead.py wide_rows.py) \
  $(addprefix tests/parts/, test_kernels.py test_losses.py $(addprefix budgets/test_, low_rank.py neighbours.py) \
  $(addprefix features/test_, hashed.py sparse_fourier.py)) \
  $(addprefix tests/learners/test_, mapped.py mapped_nystrom.py mapped_contract.py extremes.py averaged.py stacked.py \
  stacked_maps.py stacked_contract.py standardised.py auto.py double_updating.py cells.py cells_contract.py dated.py \
  neighbours.py noise.py random_iterate.py recruited.py) tests/learners/cuda/test_engine.py tests/evaluate/drift \
  $(addprefix tests/estimators/test_, refused_rows.py threads.py jobs.py arrays_from_outside.py) \
  tests/estimators/explain/test_novelty.py
NATIVELY = HYPOTHESIS_PROFILE=few build/$(1)/bin/python -m pytest -n auto -p no:cacheprovider -m "not timing and not slow"
define natively_built
	$(PYTHON) -m venv --clear build/$(1)
	build/$(1)/bin/pip install --quiet --config-settings=cmake.define.$(2) --config-settings=cmake.build-type=Debug \
	  --config-settings=build-dir=build/$(1)-objects '.[test]'
endef

##@ Test the core in other builds
sanitize:  ## the native tests under the address and undefined-behaviour sanitizers, assertions on
	$(call natively_built,sanitized,BUDGETRON_SANITIZE=ON)
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libubsan.so)" \
	  ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 PYTHONMALLOC=malloc \
	  $(call NATIVELY,sanitized) $(NATIVE)

# Python and NumPy are not built for the thread sanitizer: what happens inside them is left out. Forked processes start
# threads again. OpenBLAS takes locks at every fork that seem never to be released, and the search for deadlocks gives up
# at 64 of them: what forks many times runs without it.
THREADED := tests/estimators tests/model/test_one_by_one.py tests/learners/test_mapped_nystrom.py tests/learners/cuda
THREADS_FOUND = LD_PRELOAD="$$($(CXX) -print-file-name=libtsan.so)" OPENBLAS_NUM_THREADS=1 \
  TSAN_OPTIONS="ignore_noninstrumented_modules=1 halt_on_error=1 die_after_fork=0 detect_deadlocks=$(1)"
sanitize-threads:  ## the tests that use threads, under the thread sanitizer
	$(call natively_built,sanitized-threads,BUDGETRON_SANITIZE=thread)
	$(call THREADS_FOUND,1) $(call NATIVELY,sanitized-threads) -k "(thread or parallel or jobs) and not forked" $(THREADED)
	$(call THREADS_FOUND,0) $(call NATIVELY,sanitized-threads) -k forked tests/estimators

coverage:  ## which native lines the tests reach
	$(call natively_built,covered,BUDGETRON_COVERAGE=ON)
	find build/covered-objects -name '*.gcda' -delete
	$(call NATIVELY,covered) $(NATIVE)
	build/covered/bin/python -m benchmarks.native_coverage --missing build/covered-objects

##@ Files
stub: $(VENV)/.developed  ## the type stubs beside the sources, where mypy and editors look for them
	$(BIN)/python .ci/stubs.py src/budgetron
	$(BIN)/python -m nanobind.stubgen -q -m budgetron._core -o src/budgetron/_core.pyi

# Builds the core and installs the package, saying what it does.
define INSTALL
@command -v $(PYTHON) >/dev/null || { echo "make: there is no $(PYTHON): install Python 3.11 or later." >&2; exit 1; }
@$(PYTHON) .ci/install.py --venv $(VENV)
endef

# With what the demonstration, the README and the tutorials show next: tables, pictures, the service and its client.
$(VENV)/.installed: $(SOURCES)
	$(INSTALL) --extras arrow,client,plot,serve --uncompiled
	@touch $@

$(VENV)/.developed: $(SOURCES) $(REPRODUCTION)
	$(INSTALL) --extras test,lint --define BUDGETRON_WERROR=ON --define BUDGETRON_NATIVE=OFF
	$(BIN)/pip install --quiet ./reproduction
	@touch $@ $(VENV)/.installed

$(VENV)/.benched: $(SOURCES)
	$(INSTALL) --extras bench
	@touch $@ $(VENV)/.installed

$(VENV)/.documented: $(SOURCES)
	$(INSTALL) --extras docs
	@touch $@ $(VENV)/.installed

clean:  ## remove .venv, build and dist
	rm -rf $(VENV) build dist

# The service under load. The figures depend on the machine; each prints the load.
.PHONY: serve-rates serve-cost serve-soak serve-kills serve-fuzz
##@ The service under load
serve-rates: $(VENV)/.developed  ## acknowledged rows a second by clients; and of the log alone
	$(BIN)/python -m benchmarks.serve_log
	$(BIN)/python -m benchmarks.serve_load rates

serve-cost: $(VENV)/.developed  ## processor time of a request, compared with that of bare Starlette
	$(BIN)/python -m benchmarks.serve_load cost

serve-soak: $(VENV)/.developed  ## ten minutes of predictions and learning: errors, latency, memory
	$(BIN)/python -m benchmarks.serve_load soak 600

serve-kills: $(VENV)/.developed  ## 200 kills with -9 under load, 200 flipped bits and 50 shortened files, attacks from outside
	$(BIN)/python -m pytest -m slow tests/serve

serve-fuzz: $(VENV)/.developed  ## 100,000 broken requests
	$(BIN)/python -m fuzz.serve --requests 100000

# Brokers: real servers of Redis and NATS, unpacked without root rights; Kafka's mock cluster is in its client.
.PHONY: brokers brokers-kills
##@ Brokers
brokers: $(VENV)/.developed build/brokers  ## the tests of Redis Streams, NATS JetStream and Kafka
	BUDGETRON_BROKERS=required $(BIN)/python -m pytest tests/streams/brokers

brokers-kills: $(VENV)/.developed build/brokers  ## 50 kills with -9 for each broker and way of use
	BUDGETRON_BROKERS=required $(BIN)/python -m pytest -s -m slow tests/streams/brokers

build/brokers:
	{ command -v redis-server && command -v nats-server; } >/dev/null || .ci/brokers

# What would be uploaded. cibuildwheel (see pyproject.toml and .github/workflows) runs the same tests on every platform.
.PHONY: wheels sdist cross cross-python
##@ Release
sdist:  ## the source distribution in dist/
	$(PYTHON) .ci/wheels.py --sdist-only

wheels:  ## the source distribution and wheels in dist/, audited and tested with every Python here
	$(PYTHON) .ci/wheels.py

cross:  ## the core for other processors and systems; what QEMU runs must give the same bits
	$(PYTHON) .ci/cross.py

cross-python:  ## a wheel for aarch64, tested with a Python for aarch64 in QEMU: about ten minutes (Debian or Ubuntu)
	$(PYTHON) .ci/aarch64_wheel.py
