"""Cycle-exact meanings of what runs by a schedule, and the fabric that joins them."""
