"""Designs out of parts of the CGRA and of spatial arrays, which know nothing of each other."""
