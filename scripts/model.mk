# SPDX-License-Identifier: Apache-2.0
# What the models of one Verilator share, compiled once: its runtime, and its headers precompiled.
# scripts/model.sh has make read this file after the makefile of a model.
store := $(abspath $(dir $(lastword $(MAKEFILE_LIST)))../build/models)
include_folder := $(VERILATOR_ROOT)/include
# $(1) kind, $(2) optimisation: its folder, by all that decides it. A precompiled header holds its
# headers' place and time, too.
folder = $(store)/$(1)-$(firstword $(shell { stat -c '%n %y' $(include_folder)/verilated.h; $(CXX) --version; \
  cat $(include_folder)/verilated_config.h; \
  echo '$(2) $(filter-out -I%,$(CPPFLAGS)) $(VM_GLOBAL_FAST)'; } | sha256sum))
runtime := $(call folder,runtime,$(OPT_GLOBAL))
# Of several models that begin at once, one runs $(1) and the others wait.
once = @mkdir -p $(@D) && cd $(@D) && flock lock sh -ec 'test ! -e stamp || exit 0; $(1) touch stamp'

$(VK_GLOBAL_OBJS): $(runtime)/stamp
	ln -f $(runtime)/$@ $@

$(runtime)/stamp:
	$(call once,for source in $(VM_GLOBAL_FAST); do \
	  $(CXX) $(OPT_GLOBAL) $(CXXFLAGS) $(CPPFLAGS) -c -o $$source.o $(include_folder)/$$source.cpp; done;)

# Precompiled for clang alone: g++ takes one such header, and large models have one of their own.
# Its templates are made once in it, not in each file. ccache would answer with one of an older
# headers.h, which clang refuses.
ifneq ($(CFG_GCH_IF_CLANG),)
headers := $(call folder,headers,$(OPT_FAST))
override CFG_CXXFLAGS_PCH += -fpch-instantiate-templates
precompile := CCACHE_DISABLE=1 $(CXX) $(OPT_FAST) $(CXXFLAGS) $(CPPFLAGS) $(CFG_CXXFLAGS_PCH) headers.h -o headers.h.gch
override OPT_FAST += -include-pch $(headers)/headers.h.gch

$(VK_USER_OBJS) $(VK_OBJS) $(VM_PREFIX)__ALL.o $(VK_PCH_H).fast.gch: | $(headers)/stamp

$(headers)/stamp:
	$(call once,printf "#include \"%s\"\n" verilated.h verilated_dpi.h > headers.h; $(precompile);)
endif
