"""A machine on an FPGA board: bridge from a serial line to its buses, host side of it, boards, place and route."""
