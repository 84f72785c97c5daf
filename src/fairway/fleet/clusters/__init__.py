"""Clusters and pools of a hub: what is made from them, how they do, and what queues may use of them.

Decisions are functions of objects: `pools` (membership, drift, isolation), `projection` (objects made from a Cluster, and adoption),
`capacity` and `health` (a Cluster's status), `connection` and `checks` (Kueue's Active conditions), `quota` (the hub's quota from the
clusters'). `keeper` watches, asks them and writes, with `checking` for what it writes about queues and `sight` for what it sees of a
cluster; `probes` asks clusters what no watch tells; `hook` refuses what would break a pool. `ports` says what it needs of a link.
"""
