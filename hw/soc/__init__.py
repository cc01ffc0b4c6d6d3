"""Around the array: buses, registers and the control of runs."""
