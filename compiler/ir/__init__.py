"""Intermediate representations: frozen data, each with a verifier."""
