"""core/v1 Service and Endpoints."""

from __future__ import annotations

from msgspec import field

from fairway.kinds.k8s.core.references import ObjectReference
from fairway.kinds.k8s.meta import Condition
from fairway.kinds.meta import Object
from fairway.kinds.types import UNSET, Annotated, F, Int32, IntOrString, Opt, Type


class ServicePort(Type):
    name: Opt[Annotated[str, F(proto=1)]] = UNSET
    protocol: Opt[Annotated[str, F(proto=2, default="TCP")]] = UNSET
    app_protocol: Opt[Annotated[str, F(proto=6, zero=True)]] = UNSET
    port: Annotated[Int32, F(proto=3)] = 0
    target_port: Opt[Annotated[IntOrString, F(proto=4)]] = UNSET
    node_port: Opt[Annotated[Int32, F(proto=5)]] = UNSET


class ClientIPConfig(Type):
    timeout_seconds: Opt[Annotated[Int32, F(proto=1, zero=True)]] = UNSET


class SessionAffinityConfig(Type):
    client_ip: Opt[Annotated[ClientIPConfig, F(proto=1)]] = field(default=UNSET, name="clientIP")


class ServiceSpec(Type):
    ports: Opt[
        Annotated[
            list[ServicePort],
            F(
                proto=1,
                keys=(
                    "port",
                    "protocol",
                ),
                merge="port",
            ),
        ]
    ] = UNSET
    selector: Opt[Annotated[dict[str, str], F(proto=2, atomic=True)]] = UNSET
    cluster_ip: Opt[Annotated[str, F(proto=3)]] = field(default=UNSET, name="clusterIP")
    cluster_ips: Opt[Annotated[list[str], F(proto=18, list_type="atomic")]] = field(default=UNSET, name="clusterIPs")
    type: Opt[Annotated[str, F(proto=4)]] = UNSET
    external_ips: Opt[Annotated[list[str], F(proto=5, list_type="atomic")]] = field(default=UNSET, name="externalIPs")
    session_affinity: Opt[Annotated[str, F(proto=7)]] = UNSET
    load_balancer_ip: Opt[Annotated[str, F(proto=8)]] = field(default=UNSET, name="loadBalancerIP")
    load_balancer_source_ranges: Opt[Annotated[list[str], F(proto=9, list_type="atomic")]] = UNSET
    external_name: Opt[Annotated[str, F(proto=10)]] = UNSET
    external_traffic_policy: Opt[Annotated[str, F(proto=11)]] = UNSET
    health_check_node_port: Opt[Annotated[Int32, F(proto=12)]] = UNSET
    publish_not_ready_addresses: Opt[Annotated[bool, F(proto=13)]] = UNSET
    session_affinity_config: Opt[Annotated[SessionAffinityConfig, F(proto=14)]] = UNSET
    ip_families: Opt[Annotated[list[str], F(proto=19, list_type="atomic")]] = UNSET
    ip_family_policy: Opt[Annotated[str, F(proto=17, zero=True)]] = UNSET
    allocate_load_balancer_node_ports: Opt[Annotated[bool, F(proto=20, zero=True)]] = UNSET
    load_balancer_class: Opt[Annotated[str, F(proto=21, zero=True)]] = UNSET
    internal_traffic_policy: Opt[Annotated[str, F(proto=22, zero=True)]] = UNSET
    traffic_distribution: Opt[Annotated[str, F(proto=23, zero=True)]] = UNSET


class PortStatus(Type):
    port: Annotated[Int32, F(proto=1)] = 0
    protocol: Annotated[str, F(proto=2)] = ""
    error: Opt[Annotated[str, F(proto=3, zero=True)]] = UNSET


class LoadBalancerIngress(Type):
    ip: Opt[Annotated[str, F(proto=1)]] = UNSET
    hostname: Opt[Annotated[str, F(proto=2)]] = UNSET
    ip_mode: Opt[Annotated[str, F(proto=3, zero=True)]] = UNSET
    ports: Opt[Annotated[list[PortStatus], F(proto=4, list_type="atomic")]] = UNSET


class LoadBalancerStatus(Type):
    ingress: Opt[Annotated[list[LoadBalancerIngress], F(proto=1, list_type="atomic")]] = UNSET


class ServiceStatus(Type):
    load_balancer: Annotated[LoadBalancerStatus, F(proto=1)] = field(default_factory=LoadBalancerStatus)
    conditions: Opt[Annotated[list[Condition], F(proto=2, keys=("type",), merge="type")]] = UNSET


class Service(Object):
    """A stable address in front of pods. Kept as written: nothing is routed."""

    spec: Annotated[ServiceSpec, F(proto=2)] = field(default_factory=ServiceSpec)
    status: Annotated[ServiceStatus, F(proto=3)] = field(default_factory=ServiceStatus)


class EndpointAddress(Type):
    ip: Annotated[str, F(proto=1)] = ""
    hostname: Opt[Annotated[str, F(proto=3)]] = UNSET
    node_name: Opt[Annotated[str, F(proto=4, zero=True)]] = UNSET
    target_ref: Opt[Annotated[ObjectReference, F(proto=2, atomic=True)]] = UNSET


class EndpointPort(Type):
    name: Opt[Annotated[str, F(proto=1)]] = UNSET
    port: Annotated[Int32, F(proto=2)] = 0
    protocol: Opt[Annotated[str, F(proto=3)]] = UNSET
    app_protocol: Opt[Annotated[str, F(proto=4, zero=True)]] = UNSET


class EndpointSubset(Type):
    addresses: Opt[Annotated[list[EndpointAddress], F(proto=1, list_type="atomic")]] = UNSET
    not_ready_addresses: Opt[Annotated[list[EndpointAddress], F(proto=2, list_type="atomic")]] = UNSET
    ports: Opt[Annotated[list[EndpointPort], F(proto=3, list_type="atomic")]] = UNSET


class Endpoints(Object):
    """The addresses behind a Service. Kept as written."""

    subsets: Opt[Annotated[list[EndpointSubset], F(proto=2, list_type="atomic")]] = UNSET
