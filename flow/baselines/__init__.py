"""Hardware written by hand, to measure generated hardware against: checked in the same way, and used nowhere else."""
