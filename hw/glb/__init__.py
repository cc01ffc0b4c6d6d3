"""The global buffer: banks of memory beside the array, and the engines that stream them in and out."""
