"""What programs mean: NumPy, independent of everything that it judges."""
