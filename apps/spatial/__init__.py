"""Spatial arrays that ship with the package; each module has a `design`."""
