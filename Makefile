# SPDX-License-Identifier: Apache-2.0
# Sallyport. Every target sets up what it needs; `make help` lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: FORCE help setup setup-scala regs verilog sim sim-shell mgmt ike ike-packages packages apt-repository strongswan-sm demo formal lab-test peers test test-long bench-mgmt docs lint format synth-check route-check calibrate-delays board-check board-parts bitstreams first-run program corundum clean

VERSION := $(shell cat VERSION)
ENV := source scripts/env.sh &&
SCALA := $(ENV) scripts/scala.sh
# Names a step, its time and, if it fails, its output. V=1: the output as it comes.
STEP := scripts/progress.sh

# Where all parts run, one start of mill compiles all of Scala for them. Elaborations and specs are
# programs that then run side by side.
ALL ?=
ifneq ($(ALL),)
export COMPILED := 1
compiled := build/classpath/stamp
endif

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 24

setup: $(if $(ALL),setup-scala) ## install the toolchain (a second run does nothing)
	@scripts/setup.sh || { status=$$?; $(if $(ALL),kill $$PPID;) exit $$status; }

# As far as the compilation of Scala needs it, which then runs beside the rest of the set-up. If
# that fails, make ends at once.
setup-scala:
	@scripts/setup.sh scala

regs: setup ## regenerate the files of regs/*.rdl and suites.yaml; headers, pages into build/regs
	@$(ENV) regs/generate.sh

# --- builds ---------------------------------------------------------------------------------------

scala_folders := common interface_fpga crypto_fpga boards/src formal/src
scala_sources := $(shell find common interface_fpga crypto_fpga -path '*/src/*.scala' -not -path '*/test/*' 2>/dev/null)
shell_sources := $(scala_sources) $(shell find boards/src -name '*.scala')

scala_modules := common.test interface_fpga interface_fpga.test crypto_fpga crypto_fpga.test boards formal
build/classpath/stamp: $(shell find $(scala_folders) -name '*.scala') build.mill | setup-scala
	@$(ENV) $(STEP) "Scala" scripts/scala.sh --compile $(scala_modules)
	@touch $@

# TABLES=full: chips with 64 Ki SAs, as on a board, in a folder of their own; with one suite and 64
# rules, since 1 Ki rules simulate 20 times slower.
# TABLES=slow: chips whose crypto chip has one lane of half the slots, so that it and not a wire is
# what limits a cluster (./sallyport cluster).
# SUITES: strongSwan's names with commas, of the suites to build in.
TABLES ?= standard
ifeq ($(TABLES),full)
  sized := build/full
  suites := $(or $(SUITES),aes256gcm16)
else ifeq ($(TABLES),slow)
  sized := build/slow
  suites := $(SUITES)
else ifeq ($(TABLES),standard)
  sized := build
  suites := $(SUITES)
else
  $(error TABLES=$(TABLES): choose standard, full or slow)
endif
# CRYPTO=model: the simulations whose crypto chip has C++ in the place of its lanes; both: these and
# those of the RTL alone. Nothing but speed depends on the first.
CRYPTO ?= rtl
$(if $(filter rtl model both,$(CRYPTO)),,$(error CRYPTO=$(CRYPTO): choose rtl, model or both))
simulations := $(patsubst both,rtl model,$(CRYPTO))
size_option := $(if $(filter full,$(TABLES)),--full)
interface_options := $(if $(filter full,$(TABLES)),--full --rules 64)
crypto_options := $(strip $(size_option) $(if $(filter slow,$(TABLES)),--lanes 1 --slots 32) $(if $(suites),--suites $(suites)))

chips_rtl := $(sized)/rtl/stamp $(sized)/rtl/crypto-stamp
verilog: $(chips_rtl) ## build/rtl/<chip>/*.sv; TABLES=full: 64 Ki SAs; SUITES=name,name
$(sized)/rtl/stamp: $(scala_sources) build.mill VERSION $(sized)/rtl/options | setup $(compiled)
	@$(ENV) $(STEP) "inner and outer chip: Chisel to Verilog" \
	  scripts/scala.sh interface_fpga sallyport.iface.Elaborate --out $(sized)/rtl --version $(VERSION) $(interface_options)
	@touch $@

crypto = scripts/scala.sh crypto_fpga sallyport.crypto.Elaborate --out $(sized)/rtl --version $(VERSION) $(crypto_options)
$(sized)/rtl/crypto-stamp: $(scala_sources) build.mill VERSION $(sized)/rtl/options | setup $(compiled)
	@$(ENV) $(STEP) "crypto chip: Chisel to Verilog" $(crypto)
	@touch $@

$(sized)/rtl/crypto-model-stamp: $(scala_sources) build.mill VERSION $(sized)/rtl/options | setup $(compiled)
	@$(ENV) $(STEP) "crypto chip for lanes in C++: Chisel to Verilog" $(crypto) --model
	@touch $@

$(sized)/rtl/options: FORCE
	@mkdir -p $(@D); echo "$(crypto_options)" | cmp -s - $@ || echo "$(crypto_options)" > $@

crypto_rtl := $(patsubst rtl,$(sized)/rtl/crypto-stamp,$(patsubst model,$(sized)/rtl/crypto-model-stamp,$(simulations)))
simulated := $(sized)/rtl/stamp $(crypto_rtl)
engine = $(ENV) $(MAKE) --no-print-directory -C sim/engine BUILD_DIR=$(CURDIR)/$(sized)
sim: setup $(simulated) ## build/bin/sallyport-sim, co-simulation; TABLES=full, CRYPTO=model|both
	@$(engine) $(patsubst rtl,all,$(simulations))

# Elaborates the shells of all chips of board $(1) by one start of Java; $(2) folder of one, in
# terms of $$chip, $(3) more options.
shells = $(SCALA) boards sallyport.boards.Elaborate \
  $$($(ENV) and=; for chip in inner crypto outer; do \
    echo $$and --out $(2) --version $(VERSION) $(3) $$(python -m boards.top --board $(1) --chip $$chip --shell-options); \
    and=--and; done)

# Fabrics as on a VCU1525, but that resets of links take no second.
$(sized)/rtl/fabric-stamp: $(shell_sources) build.mill VERSION | setup $(compiled)
	@$(call shells,vcu1525,$(sized)/rtl/$$chip-fabric,--fabric)
	@touch $@

sim-shell: sim $(sized)/rtl/fabric-stamp ## build/bin/sallyport-sim-shell, for --chips shell
	@$(engine) $(patsubst model,shell-model,$(patsubst rtl,shell,$(simulations)))

mgmt: setup ## build/bin/sallyctl and build/bin/sallyportd
	@$(ENV) cd mgmt && ../$(STEP) "sallyctl and sallyportd" go build -ldflags "-X main.version=$(VERSION)" -o ../build/bin/ ./cmd/...

ike: setup ## build/strongswan/*.so: charon's plugin, for the strongSwan here (docs/how-to/ike.md)
	@$(MAKE) --no-print-directory -C mgmt/strongswan

ike-packages: setup ## build/packages/*.deb of charon's plugin, for Debian 12, 13 and testing
	@$(ENV) mgmt/strongswan/packaging/build.sh

packages: setup ## build/packages/*.deb of sallyctl and sallyportd, for amd64, arm64 and loong64
	@$(ENV) mgmt/packaging/build.sh

apt-repository: ## build/apt of build/packages, signed by gpg's secret KEY
	@mgmt/packaging/repository.sh "$(KEY)"

strongswan-sm: ## strongSwan with SM2, SM3 and SM4, in build/strongswan-sm (docs/how-to/ike-sm.md)
	@$(MAKE) --no-print-directory -C mgmt/strongswan-sm

demo: sim mgmt ## RFC 2544 throughput of two boxes back to back; table here, report in build/report
	@./sallyport rfc2544 --frame-size 64,512,1400,1518 --json build/report/rfc2544.json --html build/report/rfc2544.html

# --- checks ---------------------------------------------------------------------------------------

test: ## every test that needs neither Vivado nor a board; PART=name for one part
	@scripts/test.sh $(PART)

test-long: ## the same in long forms: more packets, rekeys, seeds and cycles
	@scripts/test.sh --long $(PART)

formal: setup ## proofs of the RTL by k-induction, 2 at a time; PROPERTY=name for one
	@$(ENV) python -m formal $(PROPERTY)

lab-test: ## a real TRex in software (docs/how-to/trex-software.md), TREX=FOLDER; as root
	@TREX="$(TREX)" $(ENV) python -m pytest -q -rs tests/trex/test_software.py tests/trex/test_software_box.py tests/trex/test_software_connections.py tests/trex/test_software_ike.py

peers: ## Debian's programs judge a box; PEER=name for one (docs/reference/peers.md)
	@scripts/peers.sh $(PEER)

# The parts, which scripts/test.sh calls. The long forms are asked for by the environment.
LONG ?=
long_forms := SALLYPORT_LONG_SPECS=1 SALLYPORT_LANE_CYCLES=5000000 SALLYPORT_NONCE_PACKETS=100000 SALLYPORT_USED_KEYS=1000000 SALLYPORT_STATE_REKEYS=1000000 SALLYPORT_EVERY_KILL=1 SALLYPORT_UPSETS=1000
part = @$(ENV) $(if $(LONG),$(long_forms)) scripts/part.sh $(@:part-%=%)
ifneq ($(ALL),)
part-interface: | part-crypto
part-common: | part-interface
endif
scala_folder = $(if $(filter common,$*),common,$*_fpga)
PYTEST := python -m pytest -q $(if $(LONG),--long)
# Boxes of the short form have lanes in C++, which LaneModelSpec and test_crypto_model.py hold to
# the RTL. Those of the long form have RTL.
part-boxes part-differential part-tester part-daemon part-ike part-shells part-live: export SALLYPORT_CRYPTO = $(if $(LONG),rtl,model)

# The specs of modules wait for each other, so that they take one of make's places and not all.
# The card of synth-check and bitstreams: a file of boards/data.
BOARD ?= vcu1525
# The short form checks the shells of this one alone.
all_boards := $(basename $(notdir $(wildcard boards/data/*.yaml)))
checked_boards := $(if $(LONG),$(all_boards),$(BOARD))
checked_stamps := $(checked_boards:%=build/boards/check/%/stamp)
part-crypto part-interface part-common: part-%: | setup $(compiled)
	$(part) scripts/specs.sh $(scala_folder).test
part-lint: | setup
	$(part) scripts/lint.sh
part-formal: | setup $(compiled)
	$(part) python -m formal $(if $(LONG),,--quick)
part-management: | setup
	$(part) mgmt/test.sh $(if $(LONG),--long)
part-processors: | setup
	$(part) mgmt/packaging/test.sh $(if $(LONG),,--quick)
part-engine: | setup
	$(part) $(MAKE) --no-print-directory -C sim/engine test
part-fuzz: sim
	$(part) bash -c '$(MAKE) --no-print-directory -C sim/engine fuzz-model fuzz-pair $(if $(LONG),fuzz) && $(PYTEST) tests/fuzz'
part-registers: | setup
	$(part) $(PYTEST) tests/regs
part-repo: | setup
	$(part) $(PYTEST) tests/repo tests/vectors tests/system/test_parts.py
part-boxes: sim mgmt
	$(part) $(PYTEST) tests/box tests/peers/test_wireshark.py
part-shells: sim-shell mgmt
	$(part) $(PYTEST) tests/shells
part-differential: sim mgmt
	$(part) $(if $(LONG),$(SHELL) -c 'for kind in "" "--kind vrfs" "--kind hairpin"; do python -m tests.differential --packets 100000 $$kind || exit; done',$(PYTEST) tests/differential)
part-tester: sim mgmt
	$(part) $(PYTEST) tests/tester tests/trex
part-live: sim-shell mgmt
	$(part) $(PYTEST) tests/live
part-daemon: sim mgmt packages
	$(part) $(PYTEST) tests/daemon
part-ike: sim mgmt ike
	$(part) $(PYTEST) tests/ike
part-route: $(route_rtl) build/route/tools
	$(part) python scripts/route_check.py build/route/rtl
part-boards: $(if $(LONG),verilog,$(sized)/rtl/stamp) board-parts $(checked_stamps)
	$(part) bash -c 'python -m boards.check $(checked_boards:%=--board %) && $(PYTEST) tests/boards'

bench-mgmt: setup ## changes beside 60,000 tunnels, SAs a second, state file size, take-over
	@$(ENV) cd mgmt && go test ./internal/daemon -run '^$$' -bench '^Benchmark(Rekey|Batch|TakeOver)$$' -benchtime 300x -timeout 30m

docs: setup ## the documentation as a site with search, into build/docs/site; a dead link fails
	@$(ENV) regs/generate.sh && python scripts/build_docs.py

lint: setup ## formatters and linters of every language; changes nothing
	@$(ENV) scripts/lint.sh

format: setup ## let the formatters rewrite the tree
	@$(ENV) scripts/lint.sh --fix

# $(1) board, $(2) chip, $(3) folder, $(4) more options of the shell, $(5) of the top
define board_rtl
$(SCALA) boards sallyport.boards.Elaborate $$($(ENV) python -m boards.top --board $(1) --chip $(2) --shell-options) \
  --out $(3) --version $(VERSION) $(4) && $(ENV) python -m boards.top --board $(1) --chip $(2) --out $(3) $(5)
endef

# The gates of the core's clock, 6 levels and 3.0 ns, and of its SLRs, 60 % of LUTs, block RAM and
# URAM, are in the scripts. Logic in Aurora's clock, 402.83 MHz, has to do with half the levels, and
# logic in the MAC's, 322.27 MHz, with 4.
synth-check: setup ## area, depth, delays of full chips in BOARD's shells, by yosys, in build/synth
	@for chip in inner outer crypto; do \
	  $(call board_rtl,$(BOARD),$$chip,build/synth/rtl/$$chip,--full) && \
	  $(ENV) python scripts/synth_check.py $${chip^}Shell build/synth/rtl/$$chip --clock 'links_*_clock=3/2.2' --clock 'mac_*Clock=4/2.8' \
	    --slrs $$($(ENV) python -m boards.top --board $(BOARD) --chip $$chip --core-slrs) && \
	  $(ENV) python scripts/slr_check.py $$chip build/synth/rtl/$$chip build/synth/$${chip^}Shell.json && \
	  $(ENV) python -m boards.check.borders $$chip build/synth/rtl/$$chip || exit 1; done

route_rtl := build/route/rtl/stamp
$(route_rtl): $(shell_sources) build.mill | setup $(compiled)
	@$(ENV) $(STEP) "routed modules: Chisel to Verilog" scripts/scala.sh boards sallyport.boards.ElaborateRouted $(@D)
	@touch $@

# 170 MB that nothing else needs, so `make setup` does without.
build/route/tools: pyproject.toml | setup
	@$(ENV) $(STEP) "nextpnr" pip install -q --no-compile --disable-pip-version-check -e '.[route]'
	@mkdir -p $(@D) && touch $@

route-check: $(route_rtl) build/route/tools ## five modules placed and routed for an ECP5
	@$(ENV) python scripts/route_check.py build/route/rtl

# A work tree of corundum at the commit of scripts/calibration.yaml, which is not part of this tree.
PUBLIC ?=
calibrate-delays: setup ## the delay model against public modules that close timing, in PUBLIC
	@$(ENV) python scripts/calibrate_delays.py "$(PUBLIC)"

# Tops for checks have small tables, which make no other crossings; those of bitstreams are made
# where they are built.
board_sources := $(shell_sources) $(wildcard boards/data/*.yaml boards/ip/*.yaml boards/constraints/*.tcl boards/templates/* boards/*.py)
build/boards/check/%/stamp: $(board_sources) build.mill VERSION | setup $(compiled)
	@$(call shells,$*,$(@D)/$$chip/rtl)
	@$(ENV) for chip in inner crypto outer; do python -m boards.top --board $* --chip $$chip --out $(@D)/$$chip/rtl || exit 1; done
	@touch $@

board-parts: build/boards/parts/stamp ## Verilog of shell parts for their own tests
build/boards/parts/stamp: $(shell_sources) build.mill VERSION | setup $(compiled)
	@$(SCALA) boards sallyport.boards.ElaborateParts --out $(@D)
	@touch $@

board-check: verilog $(all_boards:%=build/boards/check/%/stamp) ## checks without Vivado
	@$(ENV) python -m boards.check

# --- boards (docs/reference/boards.md) ------------------------------------------------------------

CHIP ?=
PART ?=
TARGET ?=
# A name of boards/variants.yaml; the step after which a run ends: synth, place, route or bitstream.
VARIANT ?= full
LAST ?= bitstream
board_options = --board "$(BOARD)" --chip "$(CHIP)" --variant "$(VARIANT)"
run_options = $(board_options) --part "$(PART)" --last "$(LAST)"
board_build = build/boards/$(BOARD)$(if $(filter-out full,$(VARIANT)),-$(VARIANT))

bitstreams: setup ## bitstreams; BOARD=vcu1525 or xupp3r, CHIP, LAST, VARIANT=first, PART
	@$(ENV) python -m boards.flow check $(run_options)
	@for chip in $(or $(CHIP),inner crypto outer); do \
	  $(call board_rtl,$(BOARD),$$chip,$(board_build)/$$chip/rtl,--$(VARIANT),--variant $(VARIANT)) || exit 1; done
	@$(ENV) python -m boards.flow run $(run_options) $(if $(KEEP_GOING),--keep-going)

first-run: ## builds VARIANT=first to routing, and archives its reports to send
	@status=0; $(MAKE) --no-print-directory bitstreams VARIANT=first LAST=$(if $(filter command,$(origin LAST)),$(LAST),route) KEEP_GOING=1 || status=$$?; \
	  $(ENV) python -m boards.bundle --board "$(BOARD)" --chip "$(CHIP)" --part "$(PART)" --variant first; exit $$status

program: setup ## load a bitstream by JTAG; BOARD, CHIP, VARIANT, TARGET=part of the cable's name
	@$(ENV) python -m boards.flow program $(board_options) --target "$(TARGET)"

corundum: setup ## the 100G MAC path of corundum at its pinned commit, into build/corundum
	@$(ENV) python -m boards.corundum

clean: ## remove all builds, keep the toolchain
	rm -rf build out
