"""Halide programs that ship with the package."""
