"""Sparse kernels, one file each; `compiler/lang/kernel.py` reads them."""
