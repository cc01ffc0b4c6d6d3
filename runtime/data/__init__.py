"""Between tensors or images and the words of streams."""
