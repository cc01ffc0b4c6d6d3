"""Passes of the sparse compiler: einsum to SAM graph, tiles of operands."""
