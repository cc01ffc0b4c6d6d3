"""From a program and its data to words and back, on whatever executes the plan."""
