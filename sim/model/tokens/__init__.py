"""Token model: every primitive as a process on token queues, one file each, and the network that runs them."""
