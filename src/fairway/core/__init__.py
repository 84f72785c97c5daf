"""Decide: pure Python, no I/O, no clock, no randomness. Imports nothing of fairway but fairway.core."""
