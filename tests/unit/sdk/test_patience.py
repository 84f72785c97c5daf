"""Clients bear with a node that is about to be back, and with nothing else."""

from __future__ import annotations

import asyncio

import pytest

from fairway.api.errors import ApiError
from fairway.sdk import aio
from fairway.sdk.aio import Patience

NOBODY = ApiError(0, "Unreachable", "nobody answers")
NOT_NOW = ApiError(503, "ServiceUnavailable", "its cluster cannot be reached")


def test_no_answer_is_borne_and_so_is_not_now_but_no_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aio, "_AGAIN_S", 0.0)

    async def test() -> None:
        patience = Patience()
        for error in (NOBODY, NOT_NOW, NOBODY):
            await patience.bear(error)
        with pytest.raises(ApiError, match="no such pod"):
            await Patience().bear(ApiError(404, "NotFound", "no such pod"))

    asyncio.run(test())


def test_patience_has_an_end_and_begins_anew_with_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aio, "_AGAIN_S", 0.0)
    monkeypatch.setattr(aio, "_PATIENCE_S", {0: 0.05})

    async def test() -> None:
        patience = Patience()
        await patience.bear(NOBODY)
        patience.renew()
        await patience.bear(NOBODY)
        await asyncio.sleep(0.1)
        with pytest.raises(ApiError, match="nobody answers"):
            await patience.bear(NOBODY)

    asyncio.run(test())
