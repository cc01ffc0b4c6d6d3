"""Tensors: sorted coordinates, fibertrees, files."""
