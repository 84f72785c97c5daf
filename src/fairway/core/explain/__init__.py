"""Why a workload does not run yet, as data computed from the structures that decide.

`facts` are the typed blockers with their numbers, `why` collects them, `change` finds the smallest change that would
help, `redact` takes out what a tenant may not see of others. May import everything of fairway.core; changes nothing.
"""
