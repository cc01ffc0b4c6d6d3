"""Halide programs in: serialised pipelines as frozen values."""
