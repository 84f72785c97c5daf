"""What many containers have written, in one call: our own addition to the API, an option that no client needs.

POST /apis/fairway.dev/v1/outputs  {"items": [{"namespace": "default", "name": "pod", "container": "main"}, …],
                                    "tailLines": 1000, "limitBytes": 65536}
answers                            {"items": [{"code": 200, "text": "base64"} | {"code": 404, "object": {Status}}, …]}

Of each no more than its last bytes are sent, from the beginning of a line on. Once the answer is large, the rest is refused with 413: it is to be
asked for by itself.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from typing import Any

import msgspec

from fairway.api.errors import ApiError, bad_request
from fairway.api.logs import LogOptions, end_of
from fairway.api.request import Target
from fairway.api.space import Space
from fairway.kinds.k8s.core.kinds import POD
from fairway.server.http import Request
from fairway.server.podlogs import LogSource, container_of, opened, read_pod
from fairway.server.routes import ResourcePath

PATH = ResourcePath("fairway.dev", "v1", "outputs")
ITEMS_MAX = 1000
BYTES_MAX = 8 << 20
Authorize = Callable[[str, ResourcePath], None]


class _Item(msgspec.Struct, forbid_unknown_fields=True):
    namespace: str
    name: str
    container: str = ""


class _Asked(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    items: list[_Item]
    tail_lines: int | None = None
    limit_bytes: int = 1 << 20


_decode = msgspec.json.Decoder(_Asked).decode


async def outputs(space: Space, source: LogSource | None, request: Request, authorize: Authorize) -> None:
    try:
        asked = _decode(await request.body())
    except (msgspec.MsgspecError, ValueError) as error:
        raise bad_request(f"the body is not a list of containers: {error}") from None
    if len(asked.items) > ITEMS_MAX:
        raise bad_request(f"{len(asked.items)} items are too many for one call: send at most {ITEMS_MAX}")
    found: list[dict[str, Any]] = []
    left = BYTES_MAX
    for item in asked.items:
        try:
            if left <= 0:
                raise ApiError(413, "RequestEntityTooLarge", "the answer is large enough: ask for this by itself")
            authorize("get", ResourcePath("", "v1", "pods", item.namespace, item.name, "log"))
            text = await _read(space, source, item, asked)
            left -= len(text)
            found.append({"code": 200, "text": b64encode(text).decode()})
        except ApiError as error:
            found.append({"code": error.code, "object": error.status()})
    await request.respond_json({"items": found})


async def _read(space: Space, source: LogSource | None, item: _Item, asked: _Asked) -> bytes:
    target = Target(POD, POD.storage_version, item.namespace, item.name)
    pod = read_pod(space, target)
    options = LogOptions(tail_lines=asked.tail_lines)
    return await end_of(opened(space, source, pod, container_of(pod, item.container), options), asked.limit_bytes)
