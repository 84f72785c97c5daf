"""Jobs and their Workloads: every job that a queue manages has one, is held back until it is admitted, and follows what becomes of it.

`hook` holds a new job back before it is stored; `making` says what Workload a job needs; `reconcile` keeps the two together.
Kinds of jobs differ only in their adapter (fairway.control.adapters).
"""
