"""Components that move tokens without looking at them."""
