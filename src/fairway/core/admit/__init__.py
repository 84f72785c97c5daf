"""Who runs next: waiting lines, flavor assignment, preemption, and the cycle that ties them together.

`lane`, `line` and `lines` hold waiting work; `assign` finds flavors; `preempt`, `classical` and `fair` choose victims;
`order` sorts a cycle's candidates; `cycle` turns heads into a plan. May import fairway.core.model and fairway.core.quota.
"""
