# SPDX-License-Identifier: Apache-2.0
# What the models of one Verilator share, compiled once: its runtime, and its headers precompiled.
# scripts/model.sh has make read this file after the makefile of a model.
store := $(abspath $(dir $(lastword $(MAKEFILE_LIST)))../build/models)
include_folder := $(VERILATOR_ROOT)/include
# All that decides it. A precompiled header holds its headers' place and time, too.
key := $(firstword $(shell { stat -c '%n %y' $(include_folder)/verilated.h; $(CXX) --version; \
  cat $(include_folder)/verilated_config.h; \
  echo '$(OPT_FAST) $(OPT_GLOBAL) $(filter-out -I%,$(CPPFLAGS)) $(VM_GLOBAL_FAST)'; } | sha256sum))
shared := $(store)/runtime-$(key)

# Precompiled for clang alone: g++ takes one such header, and large models have one of their own.
# Its templates are made once in it, not in each file.
ifneq ($(CFG_GCH_IF_CLANG),)
override CFG_CXXFLAGS_PCH += -fpch-instantiate-templates
precompile := $(CXX) $(OPT_FAST) $(CXXFLAGS) $(CPPFLAGS) $(CFG_CXXFLAGS_PCH) headers.h -o headers.h.gch
override OPT_FAST += -include-pch $(shared)/headers.h.gch
endif

$(VK_GLOBAL_OBJS): $(shared)/stamp
	ln -f $(shared)/$@ $@

$(VK_USER_OBJS) $(VK_OBJS) $(VM_PREFIX)__ALL.o $(VK_PCH_H).fast.gch: | $(shared)/stamp

# Of several models that begin at once, one compiles and the others wait.
$(shared)/stamp:
	@mkdir -p $(@D)
	@cd $(@D) && flock lock sh -ec 'test ! -e stamp || exit 0; \
	  printf "#include \"%s\"\n" verilated.h verilated_dpi.h > headers.h; $(precompile); \
	  for source in $(VM_GLOBAL_FAST); do \
	    $(CXX) $(OPT_GLOBAL) $(CXXFLAGS) $(CPPFLAGS) -c -o $$source.o $(include_folder)/$$source.cpp; \
	  done; touch stamp'
