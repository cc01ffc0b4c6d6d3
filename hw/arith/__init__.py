"""Arithmetic of the PE."""
