# What can be made: `make help`. Everything runs in .venv, which is made and refreshed as needed.

PYTHON = python3
PRESET = small
OUT    = build/$(if $(ARCH),$(basename $(notdir $(ARCH))),$(PRESET))
ARCH   =
MATRIX =
ARGS   =
LIBERTY =
DATA   =

VENV   = .venv
RUN    = $(VENV)/bin/python
STAMP  = $(VENV)/installed

# Tests start hundreds of Pythons. Where none may keep bytecode, as in many containers, each compiles all that it imports:
# that is half the time of proofs and of benches in cocotb.
unexport PYTHONDONTWRITEBYTECODE

# An environment that was moved or copied still leads to the sources at its old place: make it anew.
ifneq ($(shell cat $(STAMP) 2>/dev/null),$(CURDIR))
.PHONY: $(STAMP)
NEW    = yes
endif

.PHONY: install demo demo-soc test test-full verilog bench silicon board lint clean help
.DELETE_ON_ERROR:

install: $(STAMP)
	@echo "ready: make demo, make test, or . $(VENV)/bin/activate and sardonyx --help"

$(STAMP): pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null || { \
	  echo "$(PYTHON) is not installed; try: sudo apt-get install python3 python3-venv" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' || { \
	  echo "Python 3.10 to 3.13 is needed, $(PYTHON) is $$($(PYTHON) -V 2>&1);" \
	       "try: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo "$(PYTHON) cannot make a virtual environment; try: sudo apt-get install python3-venv" >&2; exit 1; }
	@if [ -n "$(NEW)" ]; then rm -f $(STAMP); \
	  echo "installing the pinned packages into $(VENV), about a minute"; $(PYTHON) -m venv --clear $(VENV); fi
	@$(RUN) -m pip install -qq --disable-pip-version-check --no-compile -c constraints.txt -e '.[dev]'
	@echo "$(CURDIR)" > $(STAMP)

demo: $(STAMP)
	@$(RUN) -m sardonyx run demo $(if $(MATRIX),--matrix '$(MATRIX)')

demo-soc: $(STAMP)
	@command -v riscv64-unknown-elf-gcc >/dev/null || \
	  $(RUN) -m pip install -qq --disable-pip-version-check --no-compile -c constraints.txt -e '.[dev,soc]'
	@$(RUN) -m sardonyx run demo-soc

test: $(STAMP)
	$(RUN) -m pytest -n 2 --dist worksteal -m 'not slow' $(ARGS)

test-full: $(STAMP)
	$(RUN) -m pytest -n 2 --dist worksteal $(ARGS)

verilog: $(STAMP)
	@$(RUN) -m sardonyx verilog $(if $(ARCH),--arch '$(ARCH)',--preset '$(PRESET)') --out '$(OUT)' $(ARGS)

bench: $(STAMP)
	@$(RUN) scripts/bench.py $(if $(DATA),--data '$(DATA)') $(if $(LIBERTY),--liberty '$(LIBERTY)') $(ARGS)

silicon: $(STAMP)
	@$(RUN) scripts/silicon.py $(if $(LIBERTY),--liberty '$(LIBERTY)') $(ARGS)

board: $(STAMP)
	@$(RUN) -m pip install -qq --disable-pip-version-check --no-compile -c constraints.txt -e '.[dev,board]'
	@$(RUN) scripts/board.py $(ARGS)

lint: $(STAMP)
	@$(RUN) -m pytest -q tests/test_style.py tests/test_types.py tests/test_layering.py

clean:
	rm -rf build out .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +

help:
	@echo "make                     install into $(VENV) (Python 3.10 to 3.13; PYTHON=python3.12 chooses one)"
	@echo "make demo                sparse matrix multiplication in generated Verilog; MATRIX=file.mtx"
	@echo "make demo-soc            a RISC-V processor runs two programs on the machine; installs a C compiler if there is none, 440 MB"
	@echo "make test                all tests but the slow ones; ARGS='-k reducer' selects"
	@echo "make test-full           all tests"
	@echo "make verilog             PRESET=tiny|small|sparse|fpga|amber|onyx or ARCH=file.json, OUT=folder"
	@echo "make bench               the budgets, measured: ARGS=system DATA=folder of matrices LIBERTY=folder"
	@echo "make silicon             area, timing, energy in a cell library, about an hour: LIBERTY=folder, ARGS=pe"
	@echo "make board               a bitstream for ulx3s-85f, a project for arty-a7-100; installs 220 MB of tools"
	@echo "make lint                style, types and import rules alone"
	@echo "make clean               remove what was built; $(VENV) stays"
