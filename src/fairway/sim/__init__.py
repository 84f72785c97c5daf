"""Virtual time: workload descriptions and traces run through the production core, without a cluster and without a clock.

`scenario` is what a run starts from, `engine` runs it, `shapes`, `lublin` and `swf` make scenarios, `report` says what
came of it. May import fairway.core; same scenario and seed, same result, byte for byte.
"""
