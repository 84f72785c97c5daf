"""storage.k8s.io/v1: StorageClass."""

from __future__ import annotations

from fairway.kinds.k8s.core.affinity import TopologySelectorTerm
from fairway.kinds.meta import Object
from fairway.kinds.types import UNSET, Annotated, F, Opt


class StorageClass(Object):
    """A class of storage to ask for. Kept as written."""

    provisioner: Annotated[str, F(proto=2)] = ""
    parameters: Opt[Annotated[dict[str, str], F(proto=3)]] = UNSET
    reclaim_policy: Opt[Annotated[str, F(proto=4, zero=True)]] = UNSET
    mount_options: Opt[Annotated[list[str], F(proto=5, list_type="atomic")]] = UNSET
    allow_volume_expansion: Opt[Annotated[bool, F(proto=6, zero=True)]] = UNSET
    volume_binding_mode: Opt[Annotated[str, F(proto=7, zero=True)]] = UNSET
    allowed_topologies: Opt[Annotated[list[TopologySelectorTerm], F(proto=8, list_type="atomic")]] = UNSET
