"""From a graph of PEs to tiles: walks, lanes, storage."""
