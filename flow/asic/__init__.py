"""From emitted Verilog to area, timing and energy in a cell library: Yosys maps, OpenSTA times, the reports are read."""
