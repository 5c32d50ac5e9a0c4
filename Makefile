# `make help` lists the targets. Targets that need installed packages run scripts/setup first.

SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := build
.NOTPARALLEL:

GO        ?= go
TESTFLAGS ?=
FUZZTIME  ?= 5s

# The version in a binary is its commit, if git knows it (not in a tarball, nor in a clone of another
# user, where git's error would fail the build).
VCS     = $(shell git rev-parse HEAD >/dev/null 2>&1 && echo auto || echo false)
GOBUILD = $(GO) build -trimpath -buildvcs=$(VCS)

MODULES = $(patsubst %/go.mod,%,$(wildcard examples/go.mod examples/*/go.mod deploy/check/go.mod))

.PHONY: help build setup binaries image-binaries v3 roofline-c roofline-check run bench roofline test lint unit race asan fig8-dpdk fig10-netns soak lab-small lab-browser verbs verbs-bench verbs-compat fairness interop examples fuzz \
	chaos container clean cross install docs docs-commands release

help: ## print this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: setup ## install what is missing, then every binary into bin/
	@$(MAKE) --no-print-directory binaries roofline-c

setup: ## install what is missing (Debian packages; see scripts/setup)
	@scripts/setup build

# verbs/libgoroce is a library (`make verbs`).
binaries:
	@mains=$$($(GO) list -f '{{if eq .Name "main"}}{{.ImportPath}}{{end}}' ./... | grep -v /libgoroce); \
	[[ -n $$mains ]] || { echo "no main package to build"; exit 1; }; \
	mkdir -p bin; set -x; $(GOBUILD) -o bin/ $$mains

verbs: ## libibverbs.so.1 and librdmacm.so.1 into lib/, roce_run and roced into bin/: unmodified verbs programs over goroce
	@scripts/setup verbs
	@mkdir -p lib bin
	$(GOBUILD) -buildmode=c-shared -o lib/libgoroce.so ./verbs/libgoroce
	@rm -f lib/libgoroce.h
	@$(MAKE) --no-print-directory -C verbs/libibverbs OUT=$(CURDIR)/lib
	@$(MAKE) --no-print-directory -C verbs/librdmacm OUT=$(CURDIR)/lib
	@$(MAKE) --no-print-directory -C verbs/libsysfs OUT=$(CURDIR)/lib
	$(GOBUILD) -o bin/ ./verbs/roce_run ./verbs/roced

verbs-bench: verbs build ## unmodified perftest against goroce's own programs, over memif
	scripts/verbs-bench

verbs-compat: verbs ## unmodified programs from Debian over goroce: docs/verbs-compat.md
	$(GO) run ./verbs/verbs_compat --out docs/verbs-compat.md

v3: setup ## the binaries for processors with AVX2 and BMI2 (GOAMD64=v3), into bin/v3/
	@mains=$$($(GO) list -f '{{if eq .Name "main"}}{{.ImportPath}}{{end}}' ./...); \
	mkdir -p bin/v3; set -x; GOAMD64=v3 $(GOBUILD) -o bin/v3/ $$mains

# What the image has (scripts/container-root): the programs of bench/ in one binary, and roced.
image-binaries:
	@mkdir -p bin; set -x; $(GOBUILD) -ldflags=-s -o bin/ ./bench/goroce ./verbs/roced

roofline-c:
	@$(MAKE) -s -C bench/roofline

run: build ## WRITE bandwidth over all sizes, then WRITE latency, in one process over DPDK rings
	bin/roce_write_bw -d loop: -a
	bin/roce_write_lat -d loop: -a

roofline-check: setup ## the C programs of bench/roofline recover from losses
	@$(MAKE) -s -C bench/roofline check

roofline: build ## compare a C loop without a protocol, a minimal protocol in C, testpmd and goroce in one run
	bench/roofline/run

bench: setup ## Go benchmarks of every package
	$(GO) test -p 1 -run '^$$' -bench . -benchmem -timeout 20m $(TESTFLAGS) ./...

test: setup lint cross unit race examples ## gofmt, vet, staticcheck, every test, race detector, examples

lint: setup ## gofmt, go vet, staticcheck, shell syntax
	@unformatted=$$(gofmt -l .); [[ -z $$unformatted ]] || \
		{ echo "gofmt -w would change:" $$unformatted; exit 1; }
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	@for f in $$(grep -rlI '^#!/usr/bin/env bash' .ci scripts bench); do bash -n "$$f"; done

# The programs that need no DPDK run on other machines as well.
PORTABLE  = ./lab ./test/soak ./bytetuning/cmd/bytetuning ./bench/roce_trace
PLATFORMS = linux/arm64 darwin/arm64

cross: ## build the programs without cgo (lab, soak, bytetuning, roce_trace) for linux/arm64 and darwin/arm64
	@set -e; for p in $(PLATFORMS); do echo "cross: $$p"; \
		CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/} $(GO) build -o /dev/null $(PORTABLE); done

# PURE are the packages whose tests do not use DPDK and need no core of their own.
PURE = $(GO) list -test -f '{{.ImportPath}} {{join .Deps " "}}' ./... | \
	awk '$$1 ~ /\.test$$/ && !/goroce\/dpdk/ { sub(/\.test$$/, "", $$1); print $$1 }'

# The others run one at a time: a poll loop occupies a core, and timing tests need an idle one.
unit: setup
	@pure=$$($(PURE)); others=$$($(GO) list ./... | grep -vxF "$$pure"); set -x; \
	$(GO) test -timeout 10m $(TESTFLAGS) $$pure; \
	$(GO) test -p 1 -timeout 5m $(TESTFLAGS) $$others
	$(GO) test -tags debug -run 'Pause|LinkDown|Threshold|Selective|Trimming|Slow|Stopped|Spike|Planned' $(TESTFLAGS) ./fabric # checks invariants after every event

# The race detector does not see DPDK's C code, but our side of a port: hosts over loop: are included.
race: setup ## run tests without DPDK, and those of hosts and of dpdk, with the race detector
	@pure=$$($(PURE)); set -x; \
	$(GO) test -race -timeout 10m $(TESTFLAGS) $$pure; \
	$(GO) test -race -p 1 -timeout 5m $(TESTFLAGS) . ./dpdk/...

asan: setup ## AddressSanitizer and LeakSanitizer, on the packages that call C
	scripts/asan $(TESTFLAGS)

# SEEDS, FIRST and MODE select the simulations; `bin/soak --help` lists the modes.
SEEDS ?= 100
FIRST ?= 1
MODE  ?= all

fig8-dpdk: setup ## four virtual priorities through a switch in real time, over DPDK rings; see docs/prioplus.md
	$(GOBUILD) -o bin/ ./lab/papers/prioplus/fig8
	@mkdir -p bin/fig8.out
	@bin/fig8 --out bin/fig8.out

fig10-netns: build ## an incast of perftest's programs over one slow link in a network namespace, without tokens and with (root); see docs/tocc.md
	@lab/papers/tocc/fig10/run

soak: setup ## random simulated networks, traffic and faults from SEEDS (100) seeds; see docs/soak.md
	$(GOBUILD) -o bin/ ./test/soak
	@bin/soak --seeds $(SEEDS) --first $(FIRST) --mode $(MODE)

# ROUNDS is the number of rounds per campaign; FULL=1 runs as many as a release requires; RUN is a regexp of names.
ROUNDS ?=
FULL   ?=

chaos: setup ## close races, counters read during Close, hosts that open and close, killed peers, floods; see docs/chaos.md
	$(GOBUILD) -o bin/ ./test/chaos
	@bin/chaos $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(FULL),--full) --run '$(RUN)'

lab-small: build ## every experiment of the lab at small scale (10 minutes of a core), a page of figures; fails if a verdict differs from the committed one
	bin/lab run '*' --scale small --out .cache/lab-small
	bin/lab report .cache/lab-small
	bin/lab check '*' --dir .cache/lab-small

lab-browser: setup ## the page of bin/lab report in headless Chromium, which this installs
	@scripts/setup browser
	$(GO) test -count=1 -run TestBrowser -v ./lab/report

fairness: setup ## every congestion control in the fabric: 2 to 64 flows, SEEDS (100) seeds from FIRST (1; 0 draws one)
	$(GO) test ./sim -run FairShare -timeout 24h -sweep -seeds $(SEEDS) -seed $(FIRST)

# MATRIX=full runs every cell, which takes hours; RUN is a regexp of the cells' names. MODE=differential
# compares responses to SEEDS cases of valid and invalid packets, from FIRST.
MATRIX ?= quick
RUN    ?=

interop: build ## boot Linux's soft-RoCE in a VM and run the matrix against it (root; see docs/interop.md)
	@bin/interop $(if $(filter differential,$(MODE)),--differential --seeds $(SEEDS) --first $(FIRST),--matrix $(MATRIX) --run '$(RUN)')

examples: setup ## build, vet and test the modules in examples/ that use this one from outside, and those of deploy/
	@set -e; for d in $(MODULES); do echo "examples: $$d"; \
		(cd $$d && $(GO) vet ./... && $(GO) build -o /dev/null ./... && $(GO) test ./...); done

fuzz: setup ## every fuzz target for FUZZTIME (5s) each; UNGUIDED=1: without coverage, far faster
	scripts/fuzz $(if $(UNGUIDED),-u) $(FUZZTIME)

container: ## build the image, run server and client in two containers (see scripts/container-ci)
	scripts/container-ci

docs: setup ## the documentation as a static site with search, API reference and the lab's report: bin/site
	@scripts/setup docs
	$(GOBUILD) -o bin/ ./lab ./bench/roce_write_bw ./bench/roce_trace ./bytetuning/cmd/bytetuning
	node site/build.mjs

docs-commands: setup ## run every command of README and docs that needs no more than this machine and minutes
	@scripts/setup verbs; scripts/setup monitoring
	$(GO) test -count=1 -timeout 4h -v ./test/docs -minutes

# PREFIX is where make install puts programs, manual pages and completions; DESTDIR is put before it.
PREFIX  ?= /usr/local
DESTDIR ?=

install: build ## install the programs, their manual pages and shell completions (PREFIX=/usr/local)
	scripts/install-programs '$(DESTDIR)$(PREFIX)'

release: build ## archives of the programs and the source, with checksums and an SBOM: bin/release
	scripts/release

clean: ## remove built files
	rm -rf bin site/content
	$(MAKE) -C bench/roofline clean
