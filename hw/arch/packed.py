"""Packed configuration: writes of registers as a string of bytes, in which most take two or three of them.

The writes of a program go to few registers of many tiles, with few bits set: of the eight bytes of a word of configuration
most are 0, or as in the word before. Here a place (column, row, register) is kept, from which each write says its distance,
and only bytes that are not 0 follow it. The first byte of an item decides:

    step 1..15, mask    the row goes on by step; bytes of data follow, those in mask, lowest first, the others are 0; a write
    0, 0                nothing: what fills the last line
    0, 1..REGISTERS     the register goes on by so many, the row begins anew
    0, NEXT             the next column, register 0, the row begins anew
    0, SKIP             the row goes on by MOST_STEP, without a write
    0, PLACE            four bytes follow: the register, low byte first, the row, the column

A row begins anew at FIRST_ROW, in front of that which means every row; it counts modulo 256. At first the place is register 0
of column 0, its row as it begins. An item that is cut by the end does nothing.

Source: Amber JSSC IV-B (what is fast about reconfiguration); this form is a design of its own.
"""

from .config import EVERY_ROW

MASK_BITS = STEP_BITS = 4
MOST_STEP = (1 << STEP_BITS) - 1
REGISTERS = 12
NEXT, SKIP, PLACE = 13, 14, 15
PLACE_BYTES = 4
FIRST_ROW = EVERY_ROW - 1
# The bytes of an item, at most.
ITEM_BYTES = 5
