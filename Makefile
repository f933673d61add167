# `make help` lists what there is.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
CORES ?= 2
STUDY ?=
LINE ?=
OPTIONS := --cores $(CORES) --resources gpu=1 $(if $(STUDY),--configfile $(STUDY))
$(if $(STUDY),$(if $(wildcard $(STUDY)),,$(error there is no study $(STUDY); there are: $(wildcard config/studies/*.yaml))))

.PHONY: help install demo counts run plan doctor check test unit lint format docs bench bench-quick overhead clean
.DEFAULT_GOAL := help

help: ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

$(VENV)/installed: requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

install: $(VENV)/installed ## Make .venv and install the lock

demo: install ## Run the default study and print where its report is
	$(BIN)/snakemake --cores $(CORES) --resources gpu=1
	@echo "The report is at $(CURDIR)/results/demo/report/index.html"

counts: install ## Put the paper's printed counts through the rules: do its printed figures come out?
	$(BIN)/python -m verseir make_counts --counts resources/paper-counts/counts.yaml --output build/paper-counts
	$(BIN)/snakemake --cores $(CORES) --resources gpu=1 --configfile config/studies/paper-counts.yaml
	@echo "Printed and computed figures: $(CURDIR)/results/paper-counts/tables/published.csv"

run: install ## Run a study: make run STUDY=config/studies/openiti.yaml CORES=8
	$(BIN)/snakemake $(OPTIONS)

plan: install ## What a study will take before it runs, by system: texts, tokens, hours, disk: make plan STUDY=...
	@$(BIN)/snakemake plan_costs --quiet host progress reason $(OPTIONS)

doctor: install ## What this machine lacks, and what is wrong with a study: make doctor STUDY=...
	@$(BIN)/python -m verseir doctor $(STUDY)

check: install ## Check all inputs of a study, tell what will run and how long, run nothing: make check STUDY=...
	@$(BIN)/python -m verseir check $(or $(STUDY),demo) --cores $(CORES)

test: lint ## Run all tests: lint, then unit, golden and workflow tests
	$(BIN)/python -m pytest -n $(CORES) --dist loadscope

unit: install ## Run the fast tests only
	$(BIN)/python -m pytest tests/unit -m "not slow"

lint: install ## Check style, types, schemas and generated documentation
	$(BIN)/ruff check workflow tests benchmarks
	$(BIN)/ruff format --check workflow tests benchmarks
	$(BIN)/snakefmt --check Snakefile workflow/rules
	$(BIN)/mypy
	$(BIN)/python -m verseir document_config --check

format: install ## Format the code and write the generated documentation
	$(BIN)/ruff check --fix workflow tests benchmarks
	$(BIN)/ruff format workflow tests benchmarks
	$(BIN)/snakefmt Snakefile workflow/rules
	$(BIN)/python -m verseir document_config

PEERS := build/bench-venv

# An environment of its own, that sees the lock's packages: the lock does not grow by what is only timed.
$(PEERS)/installed: $(VENV)/installed benchmarks/requirements.txt
	$(PYTHON) -m venv --clear $(PEERS)
	$(BIN)/python -c "import sysconfig; print(sysconfig.get_paths()['purelib'])" \
		> "$$($(PEERS)/bin/python -c "import sysconfig; print(sysconfig.get_paths()['purelib'])")/locked.pth"
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r benchmarks/requirements.txt
	@touch $@

bench: $(PEERS)/installed ## Time this project against other programs; one line of the page: make bench LINE=bm25-search
	$(PEERS)/bin/python benchmarks/bench.py $(if $(LINE),--only $(LINE))

bench-quick: $(PEERS)/installed ## The same with small inputs, in two minutes or so: do all programs still agree?
	$(PEERS)/bin/python benchmarks/bench.py --quick $(if $(LINE),--only $(LINE))

overhead: install ## What the demo takes beyond the work of its rules, on one core: build/overhead, ten minutes or so
	rm -rf build/overhead
	$(BIN)/python benchmarks/overhead.py

clean: ## Remove results and caches, keep .venv
	rm -rf results/*/ .snakemake .cache .pytest_cache .ruff_cache .mypy_cache .hypothesis
