"""Kernels of several statements, which are fused: declarative files."""
