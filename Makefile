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

# One tree a variant, so that `check` and `check-asan` never mix objects.
VARIANT ?= release
BUILD   ?= build
OUT     := $(BUILD)/$(VARIANT)
V       ?= 0
Q       := $(if $(filter 1,$(V)),,@)

CFLAGS ?= -O2 -g
WARN   := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes \
	  -Wpointer-arith -Wwrite-strings -Wformat=2 -Wundef -Wvla $(if $(CI),-Werror)
SAN_release := -fstack-protector-strong
SAN_asan    := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
SAN_tsan    := -fsanitize=thread

PKGS         := libwebsockets libsecp256k1 lmdb libsodium libidn2
PKG_CFLAGS   := $(shell $(PKG_CONFIG) --cflags $(PKGS) 2>/dev/null)
PKG_LIBS     := $(shell $(PKG_CONFIG) --libs $(PKGS) 2>/dev/null) -ljq -lpthread
ALL_CPPFLAGS  = -D_GNU_SOURCE -DGS_VERSION='"$(VERSION)"' -iquote lib $(PKG_CFLAGS) $(CPPFLAGS)
ALL_CFLAGS    = -std=gnu17 -fPIC $(WARN) $(SAN_$(VARIANT)) $(CFLAGS)
ALL_LDFLAGS   = $(SAN_$(VARIANT)) $(LDFLAGS)

# libgraspsync.so keeps its symbols' versions apart by name until the interface is settled.
SONAME := libgraspsync.so.0

LIB_OBJS  := $(patsubst %.c,$(OUT)/obj/%.o,$(sort $(wildcard lib/*.c)))
CMDS      := $(patsubst cmd/%.c,%,$(sort $(wildcard cmd/grasp-sync*.c)))
BINS      := $(addprefix $(OUT)/bin/,$(CMDS))
UNITS     := $(patsubst tests/unit/%.c,$(OUT)/unit/%,$(sort $(wildcard tests/unit/*.c)))
TOOLS     := $(patsubst tests/tools/%.c,$(OUT)/tools/%,$(sort $(wildcard tests/tools/*.c))) \
	     $(patsubst tests/relay/%.c,$(OUT)/tools/%,$(sort $(wildcard tests/relay/*.c)))
FUZZERS   := $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(sort $(wildcard tests/fuzz/*.c)))

all: $(BINS) $(OUT)/libgraspsync.a

$(OUT)/obj/%.o: %.c
	@mkdir -p $(@D)
	@[ '$(V)' = 1 ] || echo '  CC    $<'
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(OUT)/libgraspsync.a: $(LIB_OBJS)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(OUT)/$(SONAME): $(LIB_OBJS)
	@[ '$(V)' = 1 ] || echo '  LD    $@'
	$(Q)$(CC) -shared -Wl,-soname,$(SONAME) $(ALL_LDFLAGS) -o $@ $^ $(PKG_LIBS)

$(OUT)/bin/%: $(OUT)/obj/cmd/%.o $(OUT)/obj/cmd/cli.o $(OUT)/$(SONAME)
	@mkdir -p $(@D)
	@[ '$(V)' = 1 ] || echo '  LD    $@'
	$(Q)$(CC) $(ALL_LDFLAGS) -Wl,-rpath,'$$ORIGIN/..:$$ORIGIN/../lib' -o $@ $^ $(PKG_LIBS)

$(OUT)/unit/%: $(OUT)/obj/tests/unit/%.o $(OUT)/libgraspsync.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(PKG_LIBS) -lcmocka

$(OUT)/tools/%: $(OUT)/obj/tests/tools/%.o $(OUT)/libgraspsync.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(PKG_LIBS) -lm

$(OUT)/tools/%: $(OUT)/obj/tests/relay/%.o $(OUT)/libgraspsync.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(PKG_LIBS)

$(BUILD)/fuzz/%: tests/fuzz/%.c $(wildcard lib/*.c lib/*.h)
	@mkdir -p $(@D)
	@[ '$(V)' = 1 ] || echo '  FUZZ  $@'
	$(Q)$(CLANG) -std=gnu17 -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
	    $(ALL_CPPFLAGS) -o $@ $(filter %.c,$^) $(PKG_LIBS)

clean:
	rm -rf $(BUILD)

.PHONY: all clean
.SECONDARY:
-include $(shell find $(OUT)/obj -name '*.d' 2>/dev/null)
