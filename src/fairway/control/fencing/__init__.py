"""Fencing, on the cluster: what a hub sent and has given up must not run here.

Two things keep it so. *Epochs*: a hub numbers its decisions, and one that was overtaken on the way is refused (`hooks`). *Leases*: work of a
hub runs only while the hub renews its lease (`book` decides, `files` hands it on to the shims, `keeper` evicts what lost it, `grants` asks
before a pod starts). Work without an epoch, of people or of a stock manager, is not fenced.
"""
