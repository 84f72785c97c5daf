"""The terminal: `fairway up` and its siblings, and the entries of the two processes that `up` starts (launch, node).

May import every room; nobody imports it. Commands hold no logic of their own beyond words and exit codes.
"""
