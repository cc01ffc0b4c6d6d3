"""Tiles: the logic of a tile, and the same with its configuration registers."""
