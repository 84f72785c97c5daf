"""ResourceFlavor: a kind of capacity, for example spot nodes or one model of GPU."""

from __future__ import annotations

from fairway.kinds.kueue._pod import Taint, Toleration
from fairway.kinds.kueue.v1beta2.shared import Name
from fairway.kinds.meta import Object
from fairway.kinds.types import UNSET, Annotated, F, Opt, Type


class ResourceFlavorSpec(Type):
    """How nodes of the flavor are recognised."""

    node_labels: Opt[
        Annotated[
            dict[str, str],
            F("labels of its nodes; pods admitted to the flavor get them as node selector", atomic=True, max_length=8),
        ]
    ] = UNSET
    node_taints: Opt[
        Annotated[
            list[Taint],
            F(
                "taints of its nodes; only workloads that tolerate them get the flavor",
                list_type="atomic",
                max_length=8,
            ),
        ]
    ] = UNSET
    tolerations: Opt[
        Annotated[
            list[Toleration],
            F("tolerations that pods admitted to the flavor get", list_type="atomic", max_length=8),
        ]
    ] = UNSET
    topology_name: Opt[
        Annotated[Name, F("Topology of its nodes, to place pods close together; needs a node label, cannot be changed")]
    ] = UNSET


class ResourceFlavor(Object):
    """A kind of capacity that quotas are counted in. An empty one stands for nodes that are all alike."""

    spec: Opt[Annotated[ResourceFlavorSpec, F("how nodes of the flavor are recognised")]] = UNSET
