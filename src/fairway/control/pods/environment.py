"""The variables and the command of a container, from its pod and from the ConfigMaps and Secrets that it names."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fairway.control.pods.containers import START_ERROR, Problem
from fairway.core.quantity import NANO, parse

Json = Mapping[str, Any]
CONFIG_ERROR = "CreateContainerConfigError"
CREATE_ERROR = "CreateContainerError"
NO_COMMAND = (
    "no command specified: images are not pulled here, so the entrypoint of {image!r} is not known. "
    "Give the container a command (kubectl run NAME --image=IMAGE -- COMMAND …); it runs as a process of the machine"
)
_REFERENCE = re.compile(r"\$\$|\$\(([^()]*)\)")
_KEYED = re.compile(r"metadata\.(labels|annotations)\['([^']*)'\]")
_FIELDS = {
    "metadata.name": ("metadata", "name"),
    "metadata.namespace": ("metadata", "namespace"),
    "metadata.uid": ("metadata", "uid"),
    "spec.nodeName": ("spec", "nodeName"),
    "spec.serviceAccountName": ("spec", "serviceAccountName"),
    "status.hostIP": ("status", "hostIP"),
    "status.podIP": ("status", "podIP"),
}


class Unprepared(Exception):
    """A container cannot be started now."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Sources:
    """Objects that a pod refers to; those that are not there are None."""

    config_maps: Mapping[str, Json | None] = field(default_factory=dict)
    secrets: Mapping[str, Json | None] = field(default_factory=dict)
    allocatable: Mapping[str, str] = field(default_factory=dict)
    """Of the node: what a container without a limit may use at most."""

    def config_map(self, name: str) -> dict[str, bytes] | None:
        """Its entries; None if it is not there."""
        found = self.config_maps.get(name)
        if found is None:
            return None
        plain = {key: str(value).encode() for key, value in (found.get("data") or {}).items()}
        return {**plain, **_decoded(found.get("binaryData"))}

    def secret(self, name: str) -> dict[str, bytes] | None:
        found = self.secrets.get(name)
        return None if found is None else _decoded(found.get("data"))


def _decoded(data: Json | None) -> dict[str, bytes]:
    return {key: base64.b64decode(value) for key, value in (data or {}).items()}


def references(spec: Json) -> tuple[set[str], set[str]]:
    """Names of the ConfigMaps and of the Secrets that a pod needs."""
    maps: set[str] = set()
    secrets: set[str] = set()
    for container in (*(spec.get("initContainers") or ()), *spec["containers"]):
        for source in container.get("envFrom") or ():
            maps.add((source.get("configMapRef") or {}).get("name", ""))
            secrets.add((source.get("secretRef") or {}).get("name", ""))
        for entry in container.get("env") or ():
            origin = entry.get("valueFrom") or {}
            maps.add((origin.get("configMapKeyRef") or {}).get("name", ""))
            secrets.add((origin.get("secretKeyRef") or {}).get("name", ""))
    for volume in spec.get("volumes") or ():
        for source in (volume, *((volume.get("projected") or {}).get("sources") or ())):
            maps.add((source.get("configMap") or {}).get("name", ""))
            secrets.add((source.get("secret") or {}).get("name" if source is not volume else "secretName", ""))
    return maps - {""}, secrets - {""}


def environment(pod: Json, container: Json, sources: Sources, base: Mapping[str, str]) -> dict[str, str]:
    """All variables of a container. Raises Unprepared for what it refers to and is not there."""
    result = dict(base)
    for source in container.get("envFrom") or ():
        result.update(_all_of(source, sources))
    for entry in container.get("env") or ():
        if "value" in entry or not entry.get("valueFrom"):
            result[entry["name"]] = expand(entry.get("value", ""), result)
            continue
        value = _value_from(entry["valueFrom"], pod, container, sources)
        if value is not None:
            result[entry["name"]] = value
    return result


def _all_of(source: Json, sources: Sources) -> dict[str, str]:
    prefix = source.get("prefix", "")
    if source.get("configMapRef"):
        ref, kind = source["configMapRef"], "configmap"
        entries = sources.config_map(ref.get("name", ""))
    else:
        ref, kind = source.get("secretRef") or {}, "secret"
        entries = sources.secret(ref.get("name", ""))
    if entries is None:
        if ref.get("optional"):
            return {}
        raise Unprepared(Problem(CONFIG_ERROR, f'{kind} "{ref.get("name", "")}" not found'))
    return {prefix + key: _text(value) for key, value in sorted(entries.items()) if "=" not in key}


def _value_from(origin: Json, pod: Json, container: Json, sources: Sources) -> str | None:
    if origin.get("fieldRef"):
        return field_value(pod, origin["fieldRef"].get("fieldPath", ""))
    if origin.get("resourceFieldRef"):
        return resource_value(pod, container, origin["resourceFieldRef"], sources.allocatable)
    if origin.get("configMapKeyRef"):
        ref = origin["configMapKeyRef"]
        return _key_of(pod, ref, sources.config_map(ref.get("name", "")), "configmap", "ConfigMap")
    if origin.get("secretKeyRef"):
        ref = origin["secretKeyRef"]
        return _key_of(pod, ref, sources.secret(ref.get("name", "")), "secret", "Secret")
    raise Unprepared(Problem(CONFIG_ERROR, f"variables from {', '.join(origin)} are not known here", final=True))


def _key_of(pod: Json, ref: Json, entries: Mapping[str, bytes] | None, kind: str, shown: str) -> str | None:
    name, key = ref.get("name", ""), ref.get("key", "")
    if entries is not None and key in entries:
        return _text(entries[key])
    if ref.get("optional"):
        return None
    if entries is None:
        raise Unprepared(Problem(CONFIG_ERROR, f'{kind} "{name}" not found'))
    where = f"{pod['metadata'].get('namespace', '')}/{name}"
    raise Unprepared(Problem(CONFIG_ERROR, f"couldn't find key {key} in {shown} {where}"))


def _text(value: bytes) -> str:
    return value.decode("utf-8", "surrogateescape").replace("\0", "")


def field_value(pod: Json, path: str) -> str:
    found = _FIELDS.get(path)
    if found is not None:
        return str((pod.get(found[0]) or {}).get(found[1], ""))
    if path in ("status.hostIPs", "status.podIPs"):
        return ",".join(one["ip"] for one in (pod.get("status") or {}).get(path.partition(".")[2]) or ())
    keyed = _KEYED.fullmatch(path)
    if keyed is not None:
        return str((pod["metadata"].get(keyed[1]) or {}).get(keyed[2], ""))
    if path in ("metadata.labels", "metadata.annotations"):
        entries = pod["metadata"].get(path.partition(".")[2]) or {}
        return "\n".join(f"{key}={_quoted(value)}" for key, value in sorted(entries.items()))
    raise Unprepared(Problem(CONFIG_ERROR, f"unsupported fieldPath: {path}", final=True))


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'


def resource_value(pod: Json, container: Json, ref: Json, allocatable: Mapping[str, str]) -> str:
    """An amount in units of the divisor, rounded up. What has no limit is limited by the node."""
    owner = container
    if ref.get("containerName"):
        spec = pod["spec"]
        everyone = (*(spec.get("initContainers") or ()), *spec["containers"])
        owner = next((one for one in everyone if one["name"] == ref["containerName"]), container)
    which, _dot, name = str(ref.get("resource", "")).partition(".")
    amounts = (owner.get("resources") or {}).get(which) or {}
    text = amounts.get(name) or (allocatable.get(name) if which == "limits" else None) or "0"
    divisor = parse(str(ref.get("divisor") or "1")).nanos or NANO
    return str(-(-parse(str(text)).nanos // divisor))


def expand(text: str, known: Mapping[str, str]) -> str:
    """$(NAME) becomes the variable's value, $$ a dollar; what is not known stays as it is."""

    def replace(match: re.Match[str]) -> str:
        if match[0] == "$$":
            return "$"
        return known.get(match[1], match[0])

    return _REFERENCE.sub(replace, text)


def check(argv: Iterable[str], known: Mapping[str, str]) -> None:
    """What no process can be given, whatever the machine."""
    for what, words in (("command", argv), ("environment", (*known, *known.values()))):
        if any("\0" in word for word in words):
            raise Unprepared(Problem(START_ERROR, f"the {what} has a NUL character in it: take it out", final=True))
    for name, value in known.items():
        if not _is_text(value):
            why = "is not text in UTF-8, as variables must be: mount the volume of it instead"
            raise Unprepared(Problem(CREATE_ERROR, f"the value of variable {name} {why}"))
    bad = next((name for name in known if not name or "=" in name), None)
    if bad is not None:
        message = f"a variable cannot be named {bad!r}: names are not empty and have no '=' in them"
        raise Unprepared(Problem(START_ERROR, message, final=True))


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def command(container: Json, known: Mapping[str, str]) -> tuple[str, ...]:
    words: Iterable[str] = (*(container.get("command") or ()), *(container.get("args") or ()))
    found = tuple(expand(word, known) for word in words)
    if not found or not found[0]:
        message = NO_COMMAND.format(image=container.get("image", ""))
        raise Unprepared(Problem(START_ERROR, message, final=True))
    return found
