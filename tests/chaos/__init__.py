"""Hub and clusters as real processes, with a network between them that misbehaves as a test says, and payloads that keep a diary."""
