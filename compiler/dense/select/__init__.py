"""From a graph of words to a graph of PEs."""
