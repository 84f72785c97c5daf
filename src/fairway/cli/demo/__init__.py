"""What `make demo` plays: real nodes, started from nothing in folders of their own and gone when it ends."""
