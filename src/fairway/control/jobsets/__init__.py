"""JobSets: which Jobs a set needs next, and what its status says.

`decide` is the whole of the rules, pure; `child` makes a set's Jobs; `controller` watches and carries plans out. The Jobs themselves are run
by control/jobs, which knows nothing of sets.
"""
