"""Memories: the SRAM, address generators, and the level writer, buffer and scanner of a MEM tile."""
