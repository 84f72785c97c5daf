"""node.k8s.io/v1: RuntimeClass."""

from __future__ import annotations

from fairway.kinds.k8s.core.affinity import Toleration
from fairway.kinds.meta import Object
from fairway.kinds.types import UNSET, Annotated, F, Opt, Quantity, Type


class Overhead(Type):
    pod_fixed: Opt[Annotated[dict[str, Quantity], F(proto=1)]] = UNSET


class Scheduling(Type):
    node_selector: Opt[Annotated[dict[str, str], F(proto=1, atomic=True)]] = UNSET
    tolerations: Opt[Annotated[list[Toleration], F(proto=2, list_type="atomic")]] = UNSET


class RuntimeClass(Object):
    """A way to run containers, and what it costs."""

    handler: Annotated[str, F(proto=2)] = ""
    overhead: Opt[Annotated[Overhead, F(proto=3)]] = UNSET
    scheduling: Opt[Annotated[Scheduling, F(proto=4)]] = UNSET
