"""What a member cluster may say."""

from __future__ import annotations

from fairway.kinds import names
from fairway.kinds.errors import FieldError, invalid
from fairway.kinds.fleet.cluster import MemberCluster, Taint
from fairway.kinds.fleet.common import NAME_MAX, text
from fairway.kinds.types import Opt


def validate_member_cluster(new: MemberCluster, _old: MemberCluster | None) -> list[FieldError]:
    errors = taint_errors(new.spec.taints, "spec.taints")
    name = text(new.metadata.name)
    if len(name) > NAME_MAX:
        errors.append(invalid("metadata.name", name, f"metadata.name max length is {NAME_MAX}"))
    return errors


def taint_errors(taints: Opt[list[Taint]], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[tuple[str, str, str]] = set()
    for index, taint in enumerate(taints or ()):
        at = f"{path}[{index}]"
        value = text(taint.value)
        errors += [invalid(f"{at}.key", taint.key, problem) for problem in names.qualified_name(taint.key)]
        errors += [invalid(f"{at}.value", value, problem) for problem in names.label_value(value)]
        identity = (taint.key, value, taint.effect)
        if identity in seen:
            errors.append(invalid(at, taint.key, "taint already exists, taints must be unique"))
        seen.add(identity)
    return errors
