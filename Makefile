# Two commands do all: `make quickstart` and `make test`.
SHELL := /bin/bash
BUILD := build/release
JOBS ?= $(shell nproc)

.PHONY: help packages build quickstart down test chaos differential vmtest test-asan test-tsan sim bench format

help:
	@echo "make quickstart   install what is needed, build, start a one-node cluster, run a job in it"
	@echo "make down         stop that cluster"
	@echo "make test         install, build, run all tests"
	@echo "make differential the commands against Debian's Slurm, side by side (root)"
	@echo "make vmtest       what confines jobs, in a virtual machine (QEMU)"
	@echo "make test-asan    the unit tests, scenarios and fuzz runs with the address and undefined sanitizers"
	@echo "make test-tsan    the unit tests with the thread sanitizer"
	@echo "make chaos        takes the leading of three controllers away ROUNDS=60 times, under load, and checks"
	@echo "make sim          SEEDS=1-10000 worlds of the simulator"
	@echo "make bench        all benchmarks, or NAME=sbatch_seq for one; one JSON line each"
	@echo "make format       clang-format over the sources"

packages:
	@tools/install-packages

build: packages
	@cmake --preset release >/dev/null
	@cmake --build --preset release -j $(JOBS)

quickstart: packages
	@cmake --preset release >/dev/null
	@cmake --build --preset release -j $(JOBS) --target programs
	@tools/quickstart up

down:
	@tools/quickstart down

test: build
	@tools/run-tests $(BUILD) $(JOBS)

differential: build
	@tools/install-packages differential
	@tests/differential/run

vmtest: build
	@tools/install-packages vm
	@tests/vm/run $(BUILD)/bin

test-asan: packages
	@cmake --preset asan >/dev/null && cmake --build --preset asan -j $(JOBS)
	@cd build/asan && ctest --output-on-failure -L 'unit|fuzz|scenario'

test-tsan: packages
	@cmake --preset tsan >/dev/null && cmake --build --preset tsan -j $(JOBS)
	@cd build/tsan && ctest --output-on-failure -L unit

chaos: build
	@tests/chaos/run $(BUILD)/bin $(or $(ROUNDS),60)

sim: build
	@$(BUILD)/bin/spur-sim --seeds $(or $(SEEDS),1-10000) --jobs $(JOBS)

bench: build
	@cmake --build --preset release -j $(JOBS) --target benches
	@bench/run $(NAME)

format:
	@git ls-files 'src/*.cc' 'src/*.h' 'tests/*.cc' 'bench/*.cc' | xargs clang-format-19 -i
