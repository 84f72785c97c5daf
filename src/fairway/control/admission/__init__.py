"""Admission, live: the core's state kept from watched objects, its plans applied, and what happens to a Workload around them.

`observer` feeds the core, `lifecycle` holds the rules about one Workload (checks, stops, deactivation, timeouts, retention),
`decider` runs passes and renders their plans, `queue_status` tells what queues hold. `queueing` puts them into one loop.
"""
