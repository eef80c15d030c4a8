# make train | test | bench: each sets itself up on a fresh Debian or Ubuntu, builds and runs. `make help`.
SHELL := /bin/sh
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
BUILD := build/release
# Everything that the build and the tests need. Nothing else is ever downloaded.
PACKAGES := cmake ninja-build pkg-config libfmt-dev libtomlplusplus-dev nlohmann-json3-dev libcli11-dev libssl-dev libboost-dev \
            zlib1g-dev libsnappy-dev libzstd-dev libcpp-httplib-dev doctest-dev libeigen3-dev
CONFIG ?= qwen3.toml
ARGS ?=

.PHONY: help deps build train test bench clean

help:
	@echo "make train          build, then train the default run (CONFIG=qwen3.toml, ARGS='--overwrite --set run.seed=2')"
	@echo "make test           build, then run every test"
	@echo "make bench          build, then measure speeds, shares of the machine's peak, and PyTorch beside it where there is one"
	@echo "make build          configure and compile with $(JOBS) jobs (JOBS=n)"
	@echo "make deps           install missing packages with apt-get; the other targets do it by themselves"
	@echo "make clean          remove build/"

# A C++ compiler is part of the base system that is assumed; if there is none, g++ is installed too.
deps:
	@sh scripts/deps.sh $(PACKAGES)

$(BUILD)/build.ninja: CMakePresets.json | deps
	cmake --preset release

build: deps $(BUILD)/build.ninja
	cmake --build $(BUILD) -j $(JOBS)

# A run is never thrown away silently: where runs/qwen3 exists, say ARGS=--resume or ARGS=--overwrite.
train: deps $(BUILD)/build.ninja
	cmake --build $(BUILD) -j $(JOBS) --target minirl
	$(BUILD)/minirl train $(CONFIG) $(ARGS)

test: build
	ctest --test-dir $(BUILD) --output-on-failure

# Against PyTorch where a python3 has it, or where MINIRL_PEER_PYTHON=PYTHON[:PYTHON...] says (docs/speed.md).
bench: build
	$(BUILD)/minirl bench --audit-cost --growth --html $(BUILD)/speed.html
	$(BUILD)/bench/bench_compare --html $(BUILD)/peers.html $(ARGS)
	@echo "pages: $(BUILD)/speed.html, $(BUILD)/peers.html; further measurements: $(BUILD)/bench/bench_*"

clean:
	rm -rf build
