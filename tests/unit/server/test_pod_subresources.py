"""pods/NAME/binding and pods/NAME/eviction over HTTP."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.unit.server.harness import Harness

PODS = "/api/v1/namespaces/default/pods"
POD = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
BINDING = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}
EVICTION = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}


def test_a_scheduler_binds_and_a_drain_evicts() -> None:
    async def run() -> None:
        here = await Harness.new()
        await here.ok("admin", "POST", PODS, POD)
        status, answer = await here.call("admin", "POST", f"{PODS}/p/binding", BINDING)
        assert (status, answer["kind"], answer["status"]) == (201, "Status", "Success")
        assert (await here.ok("admin", "GET", f"{PODS}/p"))["spec"]["nodeName"] == "n"
        assert (await here.call("admin", "POST", f"{PODS}/p/eviction", EVICTION))[0] == 201
        assert (await here.ok("admin", "GET", f"{PODS}/p"))["metadata"]["deletionGracePeriodSeconds"] == 30

    asyncio.run(run())


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        ("/p", POD, 405),
        ("/p/binding", {**BINDING, "target": {}}, 400),
        ("/p/binding", {**BINDING, "metadata": {"name": "q"}}, 400),
        ("/q/binding", {**BINDING, "metadata": {"name": "q"}}, 404),
        ("/p/binding", EVICTION, 400),
        ("/q/eviction", {**EVICTION, "metadata": {"name": "q"}}, 404),
        ("/p/eviction", {**EVICTION, "deleteOptions": {"preconditions": {"uid": "another"}}}, 409),
        ("/p/nonsense", {}, 404),
    ],
)
def test_what_makes_no_sense_is_refused(path: str, body: Any, code: int) -> None:
    async def run() -> None:
        here = await Harness.new()
        await here.ok("admin", "POST", PODS, POD)
        status, answer = await here.call("admin", "POST", f"{PODS}{path}", body)
        assert (status, answer["kind"]) == (code, "Status"), answer

    asyncio.run(run())


def test_binding_and_evicting_are_rights_of_their_own() -> None:
    async def run() -> None:
        here = await Harness.new()
        await here.user("eve")
        for part, body in (("binding", BINDING), ("eviction", EVICTION)):
            assert f"pods/{part}" in await here.refused("eve", "POST", f"{PODS}/p/{part}", body)

    asyncio.run(run())


def test_a_dry_run_binds_nothing() -> None:
    async def run() -> None:
        here = await Harness.new()
        await here.ok("admin", "POST", PODS, POD)
        await here.ok("admin", "POST", f"{PODS}/p/binding?dryRun=All", BINDING)
        assert "nodeName" not in (await here.ok("admin", "GET", f"{PODS}/p"))["spec"]

    asyncio.run(run())
