"""After routing: cycles, waits, and the controllers that keep them."""
