"""From emitted Verilog to area and timing in a cell library: Yosys maps, OpenSTA times, the reports are read."""
