"""Models of the machine above Verilog."""
