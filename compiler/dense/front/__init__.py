"""From a Halide pipeline to a graph of 16-bit words."""
