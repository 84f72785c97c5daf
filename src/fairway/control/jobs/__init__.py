"""batch/v1 Jobs: which pods a Job needs next, and what its status says.

`decide` is the whole of the rules: a Job, its pods and the time in, a plan out; it reads and writes nothing. `state` remembers the pods of
each Job as they are seen, `controller` carries plans out.
"""
