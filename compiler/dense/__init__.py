"""Passes of the dense path."""
