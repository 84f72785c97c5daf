"""Observe and apply: what turns API objects into the core's inputs and its plans into changed objects."""
