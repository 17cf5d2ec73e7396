# The few commands a person types; meson does the work (see meson.build).
#
#   make            build/fedplt and the library
#   make demo       set up, build, run the main job
#   make check      set up, build, pass all tests but the long ones
#   make check-all  the long ones too: packages, reference data, every cell over a network, kills, schedules, R
#   make python     set up, build the Python package in build/python
#   make r          set up, build the R package, install it into build/r
#   make docs       the documentation as a site in build/docs/html
#   make sanitize   the tests under ASan+UBSan and under TSan, and valgrind, the Python package too
#   make bench      what the program's speed is, as ratios
#   make simulate   a million schedules of the federation's protocol (SCHEDULES=1000000); goes on where it was stopped
#   make effects    every setting in every context: what is taken has an effect; takes an hour
#   make comparison R's numbers behind docs/comparison-with-r.md computed again (r-base-core, r-cran-survival)
#   make federation every algorithm and solver over a network, with 4 and 100 processes and 4 hosts: the bits of one process
#   make chaos      200 kill -9 of a federation's processes, and other bad weather (KILLS=200)
#   make fuzz       ten minutes for each parser (FUZZ_SECONDS=600)
#   make mutate     plants 200 one-line bugs and lists those that no test notices (MUTATE_SEED=1)
#   make install    library, headers, fedplt.pc, program, man pages, completion (PREFIX, DESTDIR)
#   make package    the Debian packages in build-package, unpacked and tried; takes some minutes
#   tools/image     OCI images of coordinator and agent from these packages; tools/arm64: build and unit tests for arm64
#   make dist       fedplt-VERSION.tar.gz of what is committed; its `make check` passes too. SIGN=KEY signs it with that key of gpg
#   make sbom       build/fedplt.spdx.json: what is linked and embedded, with versions and licences (SPDX 2.3)
#
# Warnings are errors in these builds (WERROR=false turns that off), and not where meson is called by
# hand, as packagers do.

PREFIX ?= /usr/local
FUZZ_SECONDS ?= 600
SCHEDULES ?= 1000000
KILLS ?= 200
MUTATE_SEED ?= 1
WERROR ?= true
BUILD = build
VERSION = $(shell sed -n "s/^  version: '\(.*\)',$$/\1/p" meson.build)
# On a terminal ninja shows its progress, elsewhere only what goes wrong.
NINJA = tools/ninja
# Meson finds ccache for the default compiler by itself, but not for one that is named.
CLANG = $(strip $(notdir $(shell command -v ccache 2>/dev/null)) clang)
# Links the tests with sanitizers in a third of the time.
LLD = $(if $(shell command -v ld.lld 2>/dev/null),lld)
# Little optimised: at -O2 the checks in the kernels alone take minutes to compile.
SANITIZED = -Db_lundef=false -Doptimization=1 -Ddebug=true -Dwerror=$(WERROR) -Dbench=false \
            -Dexamples=false -Dassertions=true

.NOTPARALLEL: # each step uses all cores by itself
.PHONY: all setup setup-tests setup-long setup-docs demo python r docs check check-all comparison sanitize bench fuzz simulate effects federation chaos mutate install package dist sbom format clean

all: $(BUILD)/build.ninja
	@$(NINJA) $(BUILD)

setup:
	@tools/setup

setup-tests:
	@tools/setup tests

setup-long:
	@tools/setup long

setup-docs:
	@tools/setup docs

$(BUILD)/build.ninja:
	@meson setup $(BUILD) --buildtype=release -Dwerror=$(WERROR) -Dtests=false -Dbench=false \
	    -Dexamples=false >/dev/null

# The same folder with tests, benchmarks, examples and the Python package from then on: nothing is built
# twice.
$(BUILD)/with-tests: meson_options.txt | setup-tests $(BUILD)/build.ninja
	@meson setup --reconfigure $(BUILD) -Dtests=true -Dbench=true -Dexamples=true -Dpython=true >/dev/null
	@touch $@

build-asan/build.ninja:
	@CC='$(CLANG)' CC_LD='$(LLD)' meson setup build-asan -Db_sanitize=address,undefined $(SANITIZED) >/dev/null

build-tsan/build.ninja:
	@CC='$(CLANG)' CC_LD='$(LLD)' meson setup build-tsan -Db_sanitize=thread $(SANITIZED) >/dev/null

demo: setup all
	@tools/demo $(BUILD)/fedplt

# To be imported from there: PYTHONPATH=build/python python3
python: setup-tests $(BUILD)/with-tests all
	@echo "the package fedplt is in $(BUILD)/python"

# To be loaded from there: library(fedplt, lib.loc = "build/r"). Skipped with a reason where R is absent.
r: setup all
	@tools/r $(BUILD) $(BUILD)/r
	@[ ! -d $(BUILD)/r/fedplt ] || echo "the package fedplt is in $(BUILD)/r"

docs: setup-docs $(BUILD)/with-tests all
	@tools/docs $(BUILD)

check: setup-tests $(BUILD)/with-tests all build-asan/build.ninja
	@$(NINJA) build-asan
	@tests/run $(BUILD) build-asan

check-all: setup-long $(BUILD)/with-tests all build-asan/build.ninja
	@$(NINJA) build-asan
	@tests/run --all $(BUILD) build-asan
	@$(MAKE) --no-print-directory federation chaos simulate comparison docs

sanitize: setup-tests $(BUILD)/with-tests build-asan/build.ninja build-tsan/build.ninja all
	@$(NINJA) build-asan
	@$(NINJA) build-tsan
	@tests/run --suite unit build-asan build-tsan
	@tests/run --suite unit --valgrind $(BUILD)
	@FEDPLT_VALGRIND=1 tests/whole/python $(BUILD) $(BUILD)/fedplt -k valgrind

bench: setup-tests $(BUILD)/with-tests all
	@tools/bench $(BUILD)

simulate: setup-tests $(BUILD)/with-tests all
	@tools/simulate $(BUILD) $(SCHEDULES)

effects: setup-tests $(BUILD)/with-tests all
	@tests/cli/effects.py $(BUILD)/fedplt $(BUILD)/tests/cli/fedplt_careless --all

federation: setup-tests $(BUILD)/with-tests all
	@tests/whole/federation $(BUILD)/fedplt --cells
	@tests/whole/federation $(BUILD)/fedplt --agents 100
	@tests/whole/federation $(BUILD)/fedplt --hosts
	@tests/whole/federation $(BUILD)/fedplt --secure --cells
	@tests/whole/federation $(BUILD)/fedplt --secure --agents 100
	@tests/whole/federation $(BUILD)/fedplt --secure --hosts

chaos: setup-tests $(BUILD)/with-tests all
	@tests/whole/chaos $(BUILD)/fedplt $(KILLS)

fuzz: setup-tests
	@tools/fuzz $(FUZZ_SECONDS)

# Skipped with a reason where R is absent.
comparison: setup-long $(BUILD)/with-tests all
	@tests/oracle/comparison.py $(BUILD)/fedplt --r

mutate: setup-tests
	@tools/mutate --sanitize --seed $(MUTATE_SEED) src/promise src/privacy src/engine src/base/sum.c

install: all
	@meson configure $(BUILD) -Dprefix="$$(realpath -ms -- "$(PREFIX)")"
	@$(NINJA) $(BUILD) $$(tools/installed $(BUILD))
	@meson install -C $(BUILD) --no-rebuild

package:
	@tools/package

dist:
	@tools/dist $(VERSION) $(SIGN)

sbom: all
	@tools/sbom $(BUILD)

format:
	@git ls-files '*.c' '*.h' '*.inc' | xargs clang-format -i

clean:
	rm -rf build build-asan build-tsan build-fuzz build-package build-image build-arm64
