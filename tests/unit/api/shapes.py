"""A small kind with every shape that patches and server-side apply tell apart, and random objects of it."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from fairway.kinds import schema
from fairway.kinds.meta import Object
from fairway.kinds.types import UNSET, Annotated, F, Json, Opt, Type


class Port(Type):
    container_port: Annotated[int, F("port")]
    protocol: Opt[Annotated[str, F("protocol", default="TCP")]] = UNSET
    name: Opt[Annotated[str, F("name")]] = UNSET


class Limits(Type):
    cpu: Opt[Annotated[str, F("cores")]] = UNSET
    memory: Opt[Annotated[str, F("bytes")]] = UNSET


class Container(Type):
    name: Annotated[str, F("name")]
    image: Opt[Annotated[str, F("image")]] = UNSET
    args: Opt[Annotated[list[str], F("replaced whole")]] = UNSET
    ports: Opt[Annotated[list[Port], F("ports", keys=("containerPort", "protocol"), merge="containerPort")]] = UNSET
    limits: Opt[Annotated[Limits, F("limits")]] = UNSET


class Selector(Type):
    match: Opt[Annotated[dict[str, str], F("labels")]] = UNSET


class Spec(Type):
    replicas: Opt[Annotated[int, F("number")]] = UNSET
    paused: Opt[Annotated[bool, F("flag")]] = UNSET
    containers: Opt[Annotated[list[Container], F("containers", keys=("name",), merge="name")]] = UNSET
    groups: Opt[Annotated[list[str], F("a set", list_type="set", merge="")]] = UNSET
    steps: Opt[Annotated[list[str], F("an atomic list", list_type="atomic")]] = UNSET
    selector: Opt[Annotated[Selector, F("an atomic object", atomic=True)]] = UNSET
    options: Opt[Annotated[dict[str, str], F("a granular map")]] = UNSET
    frozen: Opt[Annotated[dict[str, str], F("an atomic map", atomic=True)]] = UNSET
    open: Opt[Annotated[Json, F("open JSON")]] = UNSET


class Status(Type):
    phase: Opt[Annotated[str, F("phase")]] = UNSET
    ready: Opt[Annotated[int, F("number")]] = UNSET


class Thing(Object):
    spec: Opt[Annotated[Spec, F("wanted")]] = UNSET
    status: Opt[Annotated[Status, F("seen")]] = UNSET


NODE = schema.of(Thing)

words = st.sampled_from(["a", "b", "c", "d"])
maps = st.dictionaries(words, words, max_size=3)
ports = st.lists(
    st.fixed_dictionaries(
        {"containerPort": st.integers(1, 3)}, optional={"name": words, "protocol": st.sampled_from(["TCP", "UDP"])}
    ),
    max_size=3,
    unique_by=lambda port: (port["containerPort"], port.get("protocol", "TCP")),
)
containers = st.lists(
    st.fixed_dictionaries(
        {"name": words},
        optional={
            "image": words,
            "args": st.lists(words, max_size=2),
            "ports": ports,
            "limits": st.fixed_dictionaries({}, optional={"cpu": words, "memory": words}),
        },
    ),
    max_size=4,
    unique_by=lambda container: container["name"],
)
open_json = st.recursive(
    st.one_of(st.integers(0, 3), words),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(words, inner, max_size=2)),
    max_leaves=4,
)
specs = st.fixed_dictionaries(
    {},
    optional={
        "replicas": st.integers(0, 3),
        "paused": st.booleans(),
        "containers": containers,
        "groups": st.lists(words, max_size=3, unique=True),
        "steps": st.lists(words, max_size=3),
        "selector": st.fixed_dictionaries({}, optional={"match": maps}),
        "options": maps,
        "frozen": maps,
        "open": open_json,
    },
)
statuses = st.fixed_dictionaries({}, optional={"phase": words, "ready": st.integers(0, 3)})


def things(status: bool = False) -> st.SearchStrategy[dict[str, Any]]:
    """Objects named x with random labels and spec."""
    metadata = st.builds(lambda labels: {"name": "x"} | ({"labels": labels} if labels else {}), maps)
    fields: dict[str, st.SearchStrategy[Any]] = {"spec": specs}
    if status:
        fields["status"] = statuses
    return st.fixed_dictionaries(
        {"apiVersion": st.just("test/v1"), "kind": st.just("Thing"), "metadata": metadata}, optional=fields
    )
