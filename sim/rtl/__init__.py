"""Generated Verilog, built and run."""
