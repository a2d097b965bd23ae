# grasp-sync: GNU make by hand, no configure step.  `make help` lists the targets.

VERSION := 0.1.0

PREFIX     ?= /usr/local
BINDIR     ?= $(PREFIX)/bin
LIBDIR     ?= $(PREFIX)/lib
MANDIR     ?= $(PREFIX)/share/man
DOCDIR     ?= $(PREFIX)/share/doc/grasp-sync
BASHDIR    ?= $(PREFIX)/share/bash-completion/completions
ZSHDIR     ?= $(PREFIX)/share/zsh/site-functions
FISHDIR    ?= $(PREFIX)/share/fish/vendor_completions.d
DESTDIR    ?=
INSTALL    ?= install
PKG_CONFIG ?= pkg-config
CLANG      ?= clang
JOBS       ?= 2
V          ?= 0
Q          := $(if $(filter 1,$(V)),,@)
SAY        := $(if $(filter 1,$(V)),@:,@echo)

# One tree a variant, so that `check` and `check-asan` never mix objects.
VARIANT ?= release
BUILD   ?= build
OUT     := $(BUILD)/$(VARIANT)

# Builds run JOBS at a time unless -j says otherwise.
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(JOBS)
endif

CFLAGS ?= -O2 -g
WARN   := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes \
	  -Wpointer-arith -Wwrite-strings -Wformat=2 -Wundef -Wvla $(if $(CI),-Werror)
SAN_release := -fstack-protector-strong
SAN_asan    := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
SAN_tsan    := -fsanitize=thread
SAN_fuzz    := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all

# pkg-config is asked when the first object is compiled, not while this file is read:
# `make deps check` may have to install it first.
PKGS       := libwebsockets libcrypto libsecp256k1 lmdb libsodium libidn2
PKG_CHECK   = $(if $(shell $(PKG_CONFIG) --exists $(PKGS) && echo yes),,\
	      $(error libraries are missing ($(PKGS)): run `make deps` first))
PKG_CFLAGS  = $(PKG_CHECK)$(eval PKG_CFLAGS := $(shell $(PKG_CONFIG) --cflags $(PKGS)))$(PKG_CFLAGS)
PKG_LIBS    = $(PKG_CHECK)$(eval PKG_LIBS := $(shell $(PKG_CONFIG) --libs $(PKGS)) -ljq -lpthread)$(PKG_LIBS)

ALL_CPPFLAGS = -D_GNU_SOURCE -DGS_VERSION='"$(VERSION)"' -iquote lib $(PKG_CFLAGS) $(CPPFLAGS)
ALL_CFLAGS   = -std=gnu17 -fPIC $(WARN) $(SAN_$(VARIANT)) $(CFLAGS)
ALL_LDFLAGS  = $(SAN_$(VARIANT)) -Wl,--as-needed $(LDFLAGS)
# The same way from bin to lib in the build tree and where it is installed.
RPATH        = -Wl,-rpath,'$$ORIGIN/../lib'

# The number goes up whenever the library's interface changes.
SONAME := libgraspsync.so.0
SHARED := $(OUT)/lib/$(SONAME)
STATIC := $(OUT)/lib/libgraspsync.a

LIB_OBJS := $(patsubst %.c,$(OUT)/obj/%.o,$(sort $(wildcard lib/*.c)))
CMDS     := $(patsubst cmd/%.c,%,$(sort $(wildcard cmd/grasp-sync*.c)))
BINS     := $(addprefix $(OUT)/bin/,$(CMDS))
# What the commands share.
CLI_OBJS := $(patsubst %.c,$(OUT)/obj/%.o,$(sort $(wildcard cmd/cli*.c)))
CLI_LIB  := $(OUT)/lib/libcli.a

# Of the tests' files, those with a main become programs; the rest are parts of them.
TEST_SRCS := $(sort $(wildcard $(addprefix tests/,$(addsuffix /*.c,unit tools relay sim fuzz))))
WITH_MAIN := $(shell grep -lE '^(int )?(main|LLVMFuzzerTestOneInput)\>' $(TEST_SRCS) /dev/null)
UNITS     := $(patsubst tests/unit/%.c,$(OUT)/unit/%,$(filter tests/unit/%,$(WITH_MAIN)))
TOOLS     := $(addprefix $(OUT)/tools/,$(notdir $(basename \
	     $(filter tests/tools/% tests/relay/% tests/sim/%,$(WITH_MAIN)))))
FUZZERS   := $(patsubst tests/fuzz/%.c,$(OUT)/fuzz/%,$(filter tests/fuzz/%,$(WITH_MAIN)))
# They are only run by `make fuzz`, but compile everywhere.
FUZZ_OBJS := $(FUZZERS:$(OUT)/fuzz/%=$(OUT)/obj/tests/fuzz/%.o)
PARTS     := $(patsubst %.c,$(OUT)/obj/%.o,$(filter-out $(WITH_MAIN),$(TEST_SRCS)))
PARTS_LIB := $(OUT)/lib/libparts.a

BATS      := $(sort $(wildcard tests/*/*.bats))
PEERS     := $(filter tests/peers/%,$(BATS))
SIMS      := $(wildcard tests/sim/*.bats) tests/property/orders.bats
SOAKS     := $(filter tests/soak/%,$(BATS))
# What takes minutes; under a sanitizer, too long.
SLOW_asan := $(addprefix tests/daemon/,hostile.bats restart.bats scenarios.bats relays.bats maintainers.bats)
CHECKS    := $(filter-out $(PEERS) $(SLOW_$(VARIANT)),$(BATS))
MANS      := $(sort $(wildcard man/*.[1578]))
EXAMPLES  := $(sort $(wildcard contrib/*))

# What `make deps` installs: to build and to run `make demo` and `make check`.
DEPS     := gcc libc6-dev make pkgconf libwebsockets-dev libssl-dev libjq-dev libsecp256k1-dev liblmdb-dev \
	    libsodium-dev libidn2-dev libcmocka-dev bats jq perl ca-certificates
# And `make deps-dev`: for lint, fuzz and dist.
DEPS_DEV := clang clang-tidy clang-format libclang-rt-dev mandoc shellcheck zsh fish git \
	    lmdb-utils
# Nothing is compiled before the packages are there, also with -j.
AFTER    := $(filter deps deps-dev,$(MAKECMDGOALS))

all: $(BINS) $(STATIC) ## the commands and the library (the default)
tests: all $(UNITS) $(TOOLS) $(FUZZ_OBJS) ## all, and what the tests need

help: ## this list
	@echo 'make TARGET... [PREFIX=/usr/local] [DESTDIR=] [VARIANT=release|asan|tsan] [JOBS=2] [V=1]'
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1: \2/p' Makefile

$(OUT)/obj/%.o: %.c | $(AFTER)
	@mkdir -p $(@D)
	$(SAY) '  CC    $<'
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(OUT)/obj/tests/%.o: ALL_CPPFLAGS += -iquote tests
# libFuzzer declares its function nowhere.
$(OUT)/obj/tests/fuzz/%.o: ALL_CFLAGS += -Wno-missing-prototypes

$(STATIC): $(LIB_OBJS)
$(PARTS_LIB): $(PARTS)
$(CLI_LIB): $(CLI_OBJS)
$(STATIC) $(PARTS_LIB) $(CLI_LIB):
	@mkdir -p $(@D)
	$(SAY) '  AR    $@'
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(SHARED): $(LIB_OBJS)
	@mkdir -p $(@D)
	$(SAY) '  LD    $@'
	$(Q)$(CC) -shared -Wl,-soname,$(SONAME) $(ALL_LDFLAGS) -o $@ $^ $(PKG_LIBS)

LINK = $(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(PKG_LIBS)

$(OUT)/bin/%: $(OUT)/obj/cmd/%.o $(CLI_OBJS) $(SHARED)
	@mkdir -p $(@D)
	$(SAY) '  LD    $@'
	$(LINK) $(RPATH)

$(OUT)/unit/%: $(OUT)/obj/tests/unit/%.o $(PARTS_LIB) $(CLI_LIB) $(STATIC)
	@mkdir -p $(@D)
	$(LINK) -lcmocka

$(OUT)/tools/%: $(OUT)/obj/tests/tools/%.o $(PARTS_LIB) $(STATIC)
	@mkdir -p $(@D)
	$(LINK) -lm

$(OUT)/tools/%: $(OUT)/obj/tests/relay/%.o $(PARTS_LIB) $(STATIC)
	@mkdir -p $(@D)
	$(LINK)

$(OUT)/tools/%: $(OUT)/obj/tests/sim/%.o $(PARTS_LIB) $(STATIC)
	@mkdir -p $(@D)
	$(LINK)

$(OUT)/fuzz/%: $(OUT)/obj/tests/fuzz/%.o $(PARTS_LIB) $(STATIC)
	@mkdir -p $(@D)
	$(SAY) '  LD    $@'
	$(LINK) -fsanitize=fuzzer

fuzzers: $(FUZZERS)

check: tests ## every test; ends with "N passed, N failed, N skipped"
	@GS_BUILD='$(BUILD)' GS_VARIANT='$(VARIANT)' JOBS='$(JOBS)' \
	    tests/run '$(OUT)' $(UNITS) $(CHECKS)

check-asan: ## every test again, under the address and undefined behaviour sanitizers
	@$(MAKE) --no-print-directory VARIANT=asan check

check-peers: tests ## against relays of others, where they are installed
	@GS_BUILD='$(BUILD)' GS_VARIANT='$(VARIANT)' GS_LOG=peers JOBS=1 \
	    tests/run '$(OUT)' $(PEERS)

soak: tests ## what lasts for months, for some minutes
	@GS_BUILD='$(BUILD)' GS_VARIANT='$(VARIANT)' GS_LOG=soak JOBS=1 LIMIT=3600 \
	    SOAK_ROUNDS=10000 SOAK_EVENTS=1000000 tests/run '$(OUT)' $(SOAKS)

sim: tests ## SEEDS=500 of each property: relays in virtual time, orders of arrival
	@GS_BUILD='$(BUILD)' GS_VARIANT='$(VARIANT)' GS_LOG=sim JOBS='$(JOBS)' LIMIT=86400 \
	    SEEDS='$(or $(SEEDS),500)' tests/run '$(OUT)' $(SIMS)

lint: | $(AFTER) ## format, warnings of two compilers, layers, sizes, man pages, scripts
	@MAKE='$(MAKE)' BUILD='$(BUILD)' JOBS='$(JOBS)' tests/lint/run

fuzz: | $(AFTER) ## RUNS=20000 of every parser's fuzz target
	@$(MAKE) --no-print-directory VARIANT=fuzz CC='$(CLANG)' CFLAGS='-O1 -g' fuzzers
	@tests/fuzz/run '$(BUILD)/fuzz'

bench: tests ## the figures, each as a ratio of the same run
	@PATH="$(abspath $(OUT))/bin:$(abspath $(OUT))/tools:$$PATH" tests/bench/run

demo: all $(TOOLS) ## the main job, without any network
	@PATH="$(abspath $(OUT))/bin:$(abspath $(OUT))/tools:$$PATH" tests/demo/run

deps: ## installs the Debian packages that building and testing need
	@.ci/packages $(DEPS)

deps-dev: | $(filter deps,$(MAKECMDGOALS)) ## and those of lint, fuzz and dist
	@.ci/packages $(DEPS_DEV)

format: ## lays out all C files as .clang-format says
	clang-format -i $(wildcard cmd/*.[ch] lib/*.[ch] tests/*/*.[ch])

# Where each file goes: "mode target source", one a line; install and uninstall share it.
PLACES = $(foreach c,$(CMDS),0755 $(BINDIR)/$(c) $(OUT)/bin/$(c);) \
	 0644 $(LIBDIR)/$(SONAME) $(SHARED); 0644 $(LIBDIR)/libgraspsync.a $(STATIC); \
	 $(foreach m,$(MANS),0644 $(MANDIR)/man$(subst .,,$(suffix $(m)))/$(notdir $(m)) $(m);) \
	 0644 $(BASHDIR)/grasp-sync completions/grasp-sync.bash; \
	 0644 $(ZSHDIR)/_grasp-sync completions/_grasp-sync; \
	 0644 $(FISHDIR)/grasp-sync.fish completions/grasp-sync.fish; \
	 $(foreach d,README.md LICENSE CHANGELOG.md,0644 $(DOCDIR)/$(d) $(d);) \
	 $(foreach e,$(EXAMPLES),0644 $(DOCDIR)/examples/$(notdir $(e)) $(e);)
# bash and fish look a completion up by the command's name.
LINKS  = $(LIBDIR)/libgraspsync.so $(SONAME); \
	 $(foreach c,$(CMDS),$(BASHDIR)/$(c) grasp-sync; $(FISHDIR)/$(c).fish grasp-sync.fish;)

install: all ## under PREFIX, in DESTDIR
	$(Q)printf '%s' '$(PLACES)' | tr ';' '\n' | while read -r mode to from; do \
		[ -z "$$mode" ] || $(INSTALL) -D -m "$$mode" "$$from" '$(DESTDIR)'"$$to" || exit 1; \
	done
	$(Q)printf '%s' '$(LINKS)' | tr ';' '\n' | while read -r name to; do \
		[ -z "$$name" ] || ln -sf "$$to" '$(DESTDIR)'"$$name" || exit 1; \
	done

uninstall: ## removes what install put there
	$(Q)printf '%s' '$(PLACES)' | tr ';' '\n' | while read -r mode to from; do \
		[ -z "$$mode" ] || rm -f '$(DESTDIR)'"$$to"; \
	done
	$(Q)printf '%s' '$(LINKS)' | tr ';' '\n' | while read -r name to; do \
		[ -z "$$name" ] || rm -f '$(DESTDIR)'"$$name"; \
	done
	$(Q)for folder in '$(DESTDIR)$(DOCDIR)/examples' '$(DESTDIR)$(DOCDIR)'; do \
		[ ! -d "$$folder" ] || rmdir --ignore-fail-on-non-empty "$$folder"; \
	done

dist: ## grasp-sync-VERSION.tar.gz of what is committed; the same bytes each time
	git archive --format=tar --prefix=grasp-sync-$(VERSION)/ HEAD | \
	    gzip -n -9 >grasp-sync-$(VERSION).tar.gz

clean: ## removes all build trees
	rm -rf $(BUILD)

ifneq ($(filter clean,$(MAKECMDGOALS)),)
.NOTPARALLEL:
endif
.PHONY: all tests help fuzzers check check-asan check-peers soak sim lint fuzz bench demo deps \
	deps-dev format install uninstall dist clean
.SECONDARY:
.DELETE_ON_ERROR:
-include $(shell find $(OUT)/obj -name '*.d' 2>/dev/null)
