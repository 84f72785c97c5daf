"""node.k8s.io/v1: RuntimeClass."""

from __future__ import annotations

from fairway.kinds import names
from fairway.kinds.columns import AGE, NAME
from fairway.kinds.columns import field as column
from fairway.kinds.errors import FieldError, invalid
from fairway.kinds.k8s.core.affinity import Toleration
from fairway.kinds.kind import Kind, Version
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


def _validate(new: RuntimeClass, old: RuntimeClass | None) -> list[FieldError]:
    errors = [invalid("handler", new.handler, why) for why in names.dns_label(new.handler)]
    if old is not None and new.handler != old.handler:
        errors.append(invalid("handler", new.handler, "field is immutable"))
    return errors


RUNTIME_CLASS = Kind(
    group="node.k8s.io",
    name="RuntimeClass",
    plural="runtimeclasses",
    singular="runtimeclass",
    versions=(Version("v1", RuntimeClass, (NAME, column("Handler", "handler"), AGE)),),
    namespaced=False,
    native=True,
    spec_fields=(),
    validate=_validate,
)

KINDS: tuple[Kind, ...] = (RUNTIME_CLASS,)
