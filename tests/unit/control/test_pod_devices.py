"""GPUs belong to one container at a time."""

from __future__ import annotations

from typing import Any

import pytest

from fairway.control.pods.devices import Devices, shown, wanted


def test_a_device_is_given_once_until_its_pod_is_over() -> None:
    devices = Devices(3)
    assert devices.take("u1", "a", 2) == ["0", "1"]
    assert devices.take("u1", "a", 2) == ["0", "1"], "a restart keeps them"
    assert devices.take("u2", "a", 2) is None
    assert devices.take("u2", "a", 1) == ["2"]
    devices.release("u1")
    assert devices.take("u3", "a", 1) == ["0"]


def test_what_was_given_before_a_restart_is_known_from_the_status() -> None:
    before = {
        "metadata": {"uid": "u1"},
        "status": {"containerStatuses": [{"name": "a", "allocatedResourcesStatus": shown(["1"])}]},
    }
    devices = Devices(2)
    devices.learn(before)
    assert devices.take("u2", "x", 1) == ["0"]
    assert devices.take("u1", "a", 1) == ["1"]
    assert devices.take("u3", "x", 1) is None


@pytest.mark.parametrize(
    ("resources", "count"),
    [({}, 0), ({"limits": {"nvidia.com/gpu": "2"}}, 2), ({"requests": {"nvidia.com/gpu": 1}}, 1)],
)
def test_how_many_a_container_wants(resources: Any, count: int) -> None:
    assert wanted({"resources": resources}) == count
