"""Names that an option may take, with what they mean; the command line and the Python interface read them."""

from __future__ import annotations

ENGINES = {
    "golden": "NumPy, no hardware",
    "tokens": "untimed token model of the graph",
    "fabric": "the decoded bitstream on the routing graph",
    "rtl": "generated Verilog: all tiles, or for many cycles those of the program, folded to it",
    "rtl-full": "generated Verilog of all tiles, configured over its buses",
    "rtl-system": "generated Verilog of all tiles and of a RISC-V processor, which runs the program out of memory outside",
}

POWER = {
    "sky130hd": "SKY130, 1.8 V, with all that is counted",
    "asap7": "ASAP7, 0.7 V: the loads that cells drive, without what they take inside, leakage and SRAMs",
}

VALUES = {
    "exact": "refuse a value that is not a 16-bit integer",
    "round": "round to the nearest 16-bit integer",
    "small": "replace values by small integers of the same pattern",
}

DISPATCH = {
    "order": "in order, in turn",
    "sorted": "in turn, those with the most nonzeros first",
    "expected": "those of the most expected cycles first, each to the copy that is expected to be the first to be free",
    "dynamic": "those of the most expected cycles first, each to the first copy that is free",
}

LOCATE = {
    "auto": "all, or outermost on a machine whose MEM tiles cannot do more",
    "none": "every dense level is scanned and intersected",
    "outermost": "of the outermost dense level of a tensor, coordinates are the references",
    "all": "inner dense levels multiply and add, too; needs mem.locate of the description",
}

# What a sparse program can be compiled and run without, to see what it gains.
FEATURES = {
    "pipelining": "sub-tiles follow each other in one launch; without, each is a launch of its own",
    "balancing": "tiles hold tokens where paths of different latency meet",
    "narrowing": "indices of which sub-tiles have one coordinate are left out of the program, and full levels are dense",
    "sharing": "edges are chosen for all copies and their links; without, for one copy",
    "early": "a launch begins with a portion of its words, on machines with queues; without, with all",
}

# In place of a number of copies: as many as gain, of those that fit.
MOST = "most"
