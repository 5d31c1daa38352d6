# Build, install, check: the only build description.  Long work is done by the scripts in test/ and examples/.
EXTENSION  = distlock
MODULE_big = $(EXTENSION)

# Where the sources are: "./", or another folder when built out of tree.
HERE := $(dir $(firstword $(MAKEFILE_LIST)))
files = $(patsubst $(HERE)%,%,$(wildcard $(HERE)$(1)))

EXTVERSION := $(shell sed -n "s/^default_version *= *'\(.*\)'.*/\1/p" $(HERE)$(EXTENSION).control)
OBJS := $(patsubst %.cpp,%.o,$(call files,src/*.cpp))
DATA := $(call files,sql/$(EXTENSION)--*.sql)
DOCS := $(call files,doc/*.md)

# Tests are found, never listed.  `make installcheck` needs a running server with the extension installed.
REGRESS := $(filter-out $(EXTENSION)--%,$(patsubst sql/%.sql,%,$(call files,sql/*.sql)))
REGRESS_OPTS = --load-extension=$(EXTENSION)
ISOLATION := $(patsubst test/isolation/specs/%.spec,%,$(call files,test/isolation/specs/*.spec))
ISOLATION_OPTS = --load-extension=$(EXTENSION) --inputdir=$(HERE)test/isolation
PROVE_TESTS := $(call files,test/tap/*.pl)
# The TAP tests start servers of their own, which PostgreSQL refuses to root.
ifneq ($(and $(PROVE_TESTS),$(filter-out 0,$(shell id -u))),)
TAP_TESTS = 1
endif
EXTRA_CLEAN = results log tmp_check output_iso regression.* test/output

export PG_CONFIG ?= pg_config
DIALECT = -std=c++20 -fno-exceptions -fno-rtti -fno-threadsafe-statics
# The server's headers come as system headers: their macros raise no warnings in our code.
PG_CPPFLAGS = -isystem $(shell $(PG_CONFIG) --includedir-server)
# PGXS gives COPT to C only.
PG_CXXFLAGS = $(DIALECT) -Wall -Wextra -Wshadow -Wconversion -Wno-clobbered $(COPT)

.DEFAULT_GOAL := all

# These install what they need first, so they must work on a machine that has no pg_config yet.
SCRIPTED = test soak lint tidy demo bench dist
.PHONY: $(SCRIPTED)
test:
	$(HERE)test/run
soak:
	$(HERE)test/run soak
lint:
	$(HERE)test/run lint
tidy:
	$(HERE)test/tidy
demo:
	$(HERE)test/build demo
	$(HERE)test/cluster run $(HERE)examples/demo/play
bench:
	$(HERE)test/build bench
	$(HERE)test/bench/run
dist:
	git -C $(HERE) archive --format=zip --prefix=$(EXTENSION)-$(EXTVERSION)/ \
	    -o $(CURDIR)/$(EXTENSION)-$(EXTVERSION).zip HEAD

ifneq (,$(filter-out $(SCRIPTED),$(or $(MAKECMDGOALS),all)))
PGXS := $(shell $(PG_CONFIG) --pgxs)
ifeq (,$(wildcard $(PGXS)))
$(error no PostgreSQL server headers by $(PG_CONFIG): run test/setup, or name one with PG_CONFIG=/path/to/pg_config)
endif
include $(PGXS)

ifneq (,$(filter 8.% 9.% 10 11 12 13 14,$(MAJORVERSION)))
$(error distlock needs PostgreSQL 15 or later, this is $(VERSION))
endif
# Minor releases whose binary interface differs from the one before and the one after.
ifneq (,$(filter 15.9 16.5 17.1,$(VERSION)))
$(error PostgreSQL $(VERSION) broke its binary interface and was replaced within days: take the next minor release)
endif

# PGXS gives bitcode its own flags, does not track headers, and does not make folders out of tree.
# (clang counts what the server's macros do to volatile variables as ours.)
BITCODE_CXXFLAGS += $(DIALECT) -Wno-deprecated-volatile
$(OBJS) $(OBJS:.o=.bc): $(wildcard $(HERE)src/*.hpp) | $(CURDIR)/src
$(CURDIR)/src:
	mkdir -p $@

# PGXS would drop our design.md among every other extension's, and leave it there on uninstall.
docmoduledir := extension/$(EXTENSION)
uninstall: uninstall-docs
.PHONY: uninstall-docs
uninstall-docs:
	rm -f $(addprefix '$(DESTDIR)$(docdir)/$(docmoduledir)'/,$(notdir $(DOCS)))
endif
