"""The fleet under a seed: production code of hub and clusters in one process, in virtual time, over a network, disks and machines that fail.

    python -m fairway.sim.fleet --seed 7        one history, step by step
    python -m fairway.sim.fleet --seeds 1-500   many; at the end what was done, and which promises broke

`plan` draws what a history is about, `story` tells it: `golden` has the disks that it begins with, `people` do what people do, `faults` what
goes wrong, `ending` is what must hold when all is over. `world` holds what there is: `network`, `disk`, `archive`, `machine` (with the shims
that outlive a node), `node`. `witness`, `payloads` and `dispatches` see everything from outside, and judge. Everything is drawn from the
seed, so a history that broke a promise is told again exactly as it was.
"""
