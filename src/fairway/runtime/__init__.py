"""Clock, ids, randomness, disk, transport, processes: the only door to the world outside. Real ones, and simulated twins."""
