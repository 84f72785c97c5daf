"""The whole product as its users meet it: `fairway up`, then the real kubectl and the official Python client.

Every module shares one node, each test in a namespace of its own; what kills nodes starts its own. Where kubectl or the seed are missing, the
tests that need them are skipped and say what is missing.
"""
