"""networking.k8s.io/v1: NetworkPolicy, Ingress and IngressClass."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

from msgspec import field

from fairway.kinds.columns import AGE, NAME, at
from fairway.kinds.columns import field as column
from fairway.kinds.k8s.columns import NONE, either, selects
from fairway.kinds.k8s.core.references import TypedLocalObjectReference
from fairway.kinds.k8s.meta import LabelSelector
from fairway.kinds.k8s.opt import items
from fairway.kinds.kind import Column, Kind, Moment, Version
from fairway.kinds.meta import Object
from fairway.kinds.types import UNSET, Annotated, F, Int32, IntOrString, Opt, Type


class NetworkPolicyPort(Type):
    protocol: Opt[Annotated[str, F(proto=1, zero=True)]] = UNSET
    port: Opt[Annotated[IntOrString, F(proto=2)]] = UNSET
    end_port: Opt[Annotated[Int32, F(proto=3, zero=True)]] = UNSET


class IPBlock(Type):
    cidr: Annotated[str, F(proto=1)] = ""
    except_: Opt[Annotated[list[str], F(proto=2, list_type="atomic")]] = field(default=UNSET, name="except")


class NetworkPolicyPeer(Type):
    pod_selector: Opt[Annotated[LabelSelector, F(proto=1, atomic=True)]] = UNSET
    namespace_selector: Opt[Annotated[LabelSelector, F(proto=2, atomic=True)]] = UNSET
    ip_block: Opt[Annotated[IPBlock, F(proto=3)]] = UNSET


class NetworkPolicyIngressRule(Type):
    ports: Opt[Annotated[list[NetworkPolicyPort], F(proto=1, list_type="atomic")]] = UNSET
    from_: Opt[Annotated[list[NetworkPolicyPeer], F(proto=2, list_type="atomic")]] = field(default=UNSET, name="from")


class NetworkPolicyEgressRule(Type):
    ports: Opt[Annotated[list[NetworkPolicyPort], F(proto=1, list_type="atomic")]] = UNSET
    to: Opt[Annotated[list[NetworkPolicyPeer], F(proto=2, list_type="atomic")]] = UNSET


class NetworkPolicySpec(Type):
    pod_selector: Annotated[LabelSelector, F(proto=1, atomic=True)] = field(default_factory=LabelSelector)
    ingress: Opt[Annotated[list[NetworkPolicyIngressRule], F(proto=2, list_type="atomic")]] = UNSET
    egress: Opt[Annotated[list[NetworkPolicyEgressRule], F(proto=3, list_type="atomic")]] = UNSET
    policy_types: Opt[Annotated[list[str], F(proto=4, list_type="atomic")]] = UNSET


class NetworkPolicy(Object):
    """Which traffic pods may have. Kept as written."""

    spec: Annotated[NetworkPolicySpec, F(proto=2)] = field(default_factory=NetworkPolicySpec)


class IngressTLS(Type):
    hosts: Opt[Annotated[list[str], F(proto=1, list_type="atomic")]] = UNSET
    secret_name: Opt[Annotated[str, F(proto=2)]] = UNSET


class IngressPortStatus(Type):
    port: Annotated[Int32, F(proto=1)] = 0
    protocol: Annotated[str, F(proto=2)] = ""
    error: Opt[Annotated[str, F(proto=3, zero=True)]] = UNSET


class IngressLoadBalancerIngress(Type):
    ip: Opt[Annotated[str, F(proto=1)]] = UNSET
    hostname: Opt[Annotated[str, F(proto=2)]] = UNSET
    ports: Opt[Annotated[list[IngressPortStatus], F(proto=4, list_type="atomic")]] = UNSET


class IngressLoadBalancerStatus(Type):
    ingress: Opt[Annotated[list[IngressLoadBalancerIngress], F(proto=1, list_type="atomic")]] = UNSET


class IngressStatus(Type):
    load_balancer: Annotated[IngressLoadBalancerStatus, F(proto=1)] = field(default_factory=IngressLoadBalancerStatus)


class ServiceBackendPort(Type):
    name: Opt[Annotated[str, F(proto=1)]] = UNSET
    number: Opt[Annotated[Int32, F(proto=2)]] = UNSET


class IngressServiceBackend(Type):
    name: Annotated[str, F(proto=1)] = ""
    port: Annotated[ServiceBackendPort, F(proto=2, atomic=True)] = field(default_factory=ServiceBackendPort)


class IngressBackend(Type):
    service: Opt[Annotated[IngressServiceBackend, F(proto=4)]] = UNSET
    resource: Opt[Annotated[TypedLocalObjectReference, F(proto=3, atomic=True)]] = UNSET


class HTTPIngressPath(Type):
    path: Opt[Annotated[str, F(proto=1)]] = UNSET
    path_type: Opt[Annotated[str, F(proto=3, zero=True)]] = UNSET
    backend: Annotated[IngressBackend, F(proto=2)] = field(default_factory=IngressBackend)


class HTTPIngressRuleValue(Type):
    paths: Annotated[list[HTTPIngressPath], F(proto=1, list_type="atomic")] = field(default_factory=list)


class IngressRuleValue(Type):
    http: Opt[Annotated[HTTPIngressRuleValue, F(proto=1)]] = UNSET


class IngressRule(IngressRuleValue):
    PROTO_INLINE: ClassVar[dict[int, type[Type]]] = {2: IngressRuleValue}

    host: Opt[Annotated[str, F(proto=1)]] = UNSET


class IngressSpec(Type):
    ingress_class_name: Opt[Annotated[str, F(proto=4, zero=True)]] = UNSET
    default_backend: Opt[Annotated[IngressBackend, F(proto=1)]] = UNSET
    tls: Opt[Annotated[list[IngressTLS], F(proto=2, list_type="atomic")]] = UNSET
    rules: Opt[Annotated[list[IngressRule], F(proto=3, list_type="atomic")]] = UNSET


class Ingress(Object):
    """Routes from outside to Services. Kept as written."""

    spec: Annotated[IngressSpec, F(proto=2)] = field(default_factory=IngressSpec)
    status: Annotated[IngressStatus, F(proto=3)] = field(default_factory=IngressStatus)


class IngressClassParametersReference(Type):
    api_group: Opt[Annotated[str, F(proto=1, zero=True)]] = UNSET
    kind: Annotated[str, F(proto=2)] = ""
    name: Annotated[str, F(proto=3)] = ""
    scope: Opt[Annotated[str, F(proto=4, zero=True)]] = UNSET
    namespace: Opt[Annotated[str, F(proto=5, zero=True)]] = UNSET


class IngressClassSpec(Type):
    controller: Opt[Annotated[str, F(proto=1)]] = UNSET
    parameters: Opt[Annotated[IngressClassParametersReference, F(proto=2)]] = UNSET


class IngressClass(Object):
    """Who implements an Ingress. Kept as written."""

    spec: Annotated[IngressClassSpec, F(proto=2)] = field(default_factory=IngressClassSpec)


HOSTS_SHOWN = 3
DEFAULT_CLASS = "ingressclass.kubernetes.io/is-default-class"


def _default_policy(new: NetworkPolicy, _old: NetworkPolicy | None) -> None:
    spec = new.spec
    ports = [port for rule in items(spec.ingress) for port in items(rule.ports)]
    ports += [port for rule in items(spec.egress) for port in items(rule.ports)]
    for port in ports:
        port.protocol = "TCP" if port.protocol is UNSET else port.protocol
    if not items(spec.policy_types):
        spec.policy_types = ["Ingress", "Egress"] if items(spec.egress) else ["Ingress"]


def _default_class(new: IngressClass, _old: IngressClass | None) -> None:
    parameters = new.spec.parameters
    if parameters is not UNSET and parameters.scope is UNSET:
        parameters.scope = "Cluster"


def _hosts(obj: Mapping[str, Any], _moment: Moment) -> str:
    rules = at(obj, "spec.rules") or ()
    hosts = [rule["host"] for rule in rules if rule.get("host")]
    if len(hosts) > HOSTS_SHOWN:
        return f"{','.join(hosts[:HOSTS_SHOWN])} + {len(rules) - HOSTS_SHOWN} more..."
    return ",".join(hosts) or "*"


def _addresses(obj: Mapping[str, Any], _moment: Moment) -> str:
    points = at(obj, "status.loadBalancer.ingress") or ()
    return ",".join(sorted({point.get("ip") or point.get("hostname") or "" for point in points} - {""}))


def _class_name(obj: Mapping[str, Any], _moment: Moment) -> str:
    default = (at(obj, "metadata.annotations") or {}).get(DEFAULT_CLASS) == "true"
    return f"{at(obj, 'metadata.name')}{' (default)' if default else ''}"


def _parameters(obj: Mapping[str, Any], _moment: Moment) -> str:
    parameters = at(obj, "spec.parameters")
    if parameters is None:
        return NONE
    group = f".{parameters['apiGroup']}" if "apiGroup" in parameters else ""
    return f"{parameters.get('kind')}{group}/{parameters.get('name')}"


_kind = partial(Kind, group="networking.k8s.io", native=True)

NETWORK_POLICY = _kind(
    name="NetworkPolicy",
    plural="networkpolicies",
    singular="networkpolicy",
    versions=(Version("v1", NetworkPolicy, (NAME, selects("spec.podSelector", "Pod-Selector", wide=False), AGE)),),
    short_names=("netpol",),
    default=_default_policy,
)

INGRESS = _kind(
    name="Ingress",
    plural="ingresses",
    singular="ingress",
    versions=(
        Version(
            "v1",
            Ingress,
            (
                NAME,
                either("Class", "spec.ingressClassName", NONE),
                Column("Hosts", _hosts),
                Column("Address", _addresses),
                Column("Ports", lambda obj, _moment: "80, 443" if at(obj, "spec.tls") else "80"),
                AGE,
            ),
        ),
    ),
    short_names=("ing",),
    subresources=("status",),
)

INGRESS_CLASS = _kind(
    name="IngressClass",
    plural="ingressclasses",
    singular="ingressclass",
    versions=(
        Version(
            "v1",
            IngressClass,
            (
                Column("Name", _class_name, format="name"),
                column("Controller", "spec.controller"),
                Column("Parameters", _parameters),
                AGE,
            ),
        ),
    ),
    namespaced=False,
    default=_default_class,
)

KINDS: tuple[Kind, ...] = (NETWORK_POLICY, INGRESS, INGRESS_CLASS)
