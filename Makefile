# The few commands a person types; meson does the work (see meson.build).
#
#   make            build/fedplt and the library
#   make demo       set up, build, run the main job
#   make check      set up, build, pass all tests
#   make sanitize   the tests under ASan+UBSan and under TSan, and valgrind
#   make bench      what the program's speed is, as ratios
#   make simulate a million schedules of the federation's protocol (SCHEDULES=1000000)
#   make fuzz       ten minutes for each parser (FUZZ_SECONDS=600)
#   make mutate     plants 200 one-line bugs and lists those that no test notices (MUTATE_SEED=1)
#   make install    library, headers, fedplt.pc, program, man pages, completion (PREFIX, DESTDIR)

PREFIX ?= /usr/local
FUZZ_SECONDS ?= 600
SCHEDULES ?= 1000000
MUTATE_SEED ?= 1
BUILD = build
# On a terminal ninja shows its progress, elsewhere only what goes wrong.
NINJA = tools/ninja

.PHONY: all setup setup-tests demo check sanitize bench fuzz mutate install format clean
.PHONY: all setup demo check sanitize bench fuzz simulate mutate install format clean

all: $(BUILD)/build.ninja
	@$(NINJA) $(BUILD)

setup:
	@tools/setup

setup-tests:
	@tools/setup tests

$(BUILD)/build.ninja:
	@meson setup $(BUILD) --buildtype=release --prefix=$(PREFIX) >/dev/null

build-asan/build.ninja:
	@CC=clang meson setup build-asan -Db_sanitize=address,undefined -Db_lundef=false \
	    --buildtype=debugoptimized >/dev/null

build-tsan/build.ninja:
	@CC=clang meson setup build-tsan -Db_sanitize=thread -Db_lundef=false \
	    --buildtype=debugoptimized >/dev/null

demo: setup all
	@tools/demo $(BUILD)/fedplt

check: setup-tests all build-asan/build.ninja
	@$(NINJA) build-asan
	@tests/run $(BUILD) build-asan

sanitize: setup-tests build-asan/build.ninja build-tsan/build.ninja all
	@$(NINJA) build-asan
	@$(NINJA) build-tsan
	@tests/run --suite unit build-asan build-tsan
	@tests/run --suite unit --valgrind $(BUILD)

bench: setup-tests all
	@tools/bench $(BUILD)

fuzz: setup-tests
simulate: setup all
	@$(BUILD)/tests/simulator/simulator $(SCHEDULES)


	@tools/fuzz $(FUZZ_SECONDS)

mutate: setup-tests
	@tools/mutate --seed $(MUTATE_SEED) src/promise src/privacy src/engine src/base/sum.c

install: all
	@meson install -C $(BUILD) --no-rebuild

format:
	@git ls-files '*.c' '*.h' '*.inc' | xargs clang-format -i

clean:
	rm -rf build build-asan build-tsan build-fuzz
