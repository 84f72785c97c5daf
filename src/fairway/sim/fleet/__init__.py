"""The fleet under a seed: production code of hub and clusters in one process, in virtual time, over a network, disks and machines that fail.

    python -m fairway.sim.fleet --seed 7        one history, step by step
    python -m fairway.sim.fleet --seeds 1-500   many; a failing one prints what led there

`story` tells one history and `faults` what goes wrong in it; `world` holds what there is: `network`, `disk`, `machine` (with the shims that
outlive a node), `node`. Everything is drawn from the seed, so a history that broke a promise is told again exactly as it was.
"""
