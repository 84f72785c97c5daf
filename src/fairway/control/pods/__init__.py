"""From a Pod object to runs of an engine and back, on one cluster.

    requests      what a pod asks for                       pure
    room          which node has room for which pod          pure
    devices       which GPU is whose                         pure
    lifecycle     pod + runs + now -> status and actions     pure
      containers    one container: starts, ends, waits       pure
      conditions    phase and conditions of a pod            pure
    environment   variables and command of a container       pure
    volumes       what a pod's volumes hold                  pure
    binder        binds waiting pods to nodes                watches and writes
    probes        asks containers how they do                through the engine
    runner        drives the engine as lifecycle says        watches, writes and acts
    folders       a pod's folder on disk                     writes files
    machine       the Node object of this machine            writes

What is remembered beyond the objects is safely forgotten at a restart: how often in a row a container failed (then its restart count
stands in), which runs were asked for (then the engine is asked), and how containers do (then what the status says stands in).
"""

from __future__ import annotations

from fairway.control.pods.requests import NO_RULES, Json, RequestRules, Transformation, apply_rules, pod_requests

__all__ = ["NO_RULES", "Json", "RequestRules", "Transformation", "apply_rules", "pod_requests"]
