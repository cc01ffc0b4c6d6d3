"""Front ends: what a user writes, read into frozen trees."""
