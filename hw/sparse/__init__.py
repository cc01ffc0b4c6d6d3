"""Sparse primitives of the PE: joiner, repeater, reducer, dropper and pass-through."""
