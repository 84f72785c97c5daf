"""Writes to aggregating cluster roles what they add up to, for people to read. Decisions do not wait for it, nor look at it."""

from __future__ import annotations

from functools import partial

from fairway.api import codec
from fairway.api.request import Options, Target, Write
from fairway.api.space import Space
from fairway.api.worker import Worker
from fairway.kinds.k8s.rbac import CLUSTER_ROLE, PolicyRule
from fairway.kinds.kind import convert
from fairway.server.rbac.authorizer import Authorizer
from fairway.server.rbac.rules import Rule, to_json

_EVERY_SECONDS = 5.0


class Aggregation:
    def __init__(self, space: Space, authorizer: Authorizer) -> None:
        self._space = space
        self._authorizer = authorizer
        self._worker = Worker("role-aggregation", self.step, _EVERY_SECONDS)

    def start(self) -> None:
        self._worker.start()

    async def stop(self) -> None:
        await self._worker.stop()

    async def step(self) -> bool:
        stale = self._authorizer.aggregated()
        await self._space.objects.bulk([partial(self._write, name, rules) for name, rules in stale.items()])
        return False

    def _write(self, name: str, rules: tuple[Rule, ...]) -> Write:
        target = Target(CLUSTER_ROLE, CLUSTER_ROLE.versions[0], "", name)
        record = self._space.objects.latest(target)
        role = codec.stored(CLUSTER_ROLE, record.value)
        role.rules = convert(to_json(rules), list[PolicyRule])
        return self._space.objects.replace(target, record, role, Options(), [])
