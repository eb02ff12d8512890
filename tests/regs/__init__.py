"""The exporters that make Scala and Go from regs/*.rdl."""
