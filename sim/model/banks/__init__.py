"""Private buffers cycle by cycle: when their banks give what they hold, and when results have been written."""
