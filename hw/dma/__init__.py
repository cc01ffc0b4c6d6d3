"""A DMA between memory behind an AXI4 bus and streams of elements."""
