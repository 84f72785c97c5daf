"""Errors as Kubernetes Status objects, with messages that a person can act on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairway.kinds.errors import FieldError
from fairway.kinds.kind import Kind


class ApiError(Exception):
    """A refusal: HTTP code, machine-readable reason, and a sentence for people."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: dict[str, Any] | None = None,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code, self.reason, self.message = code, reason, message
        self.details = details or {}
        if retry_after is not None:
            self.details["retryAfterSeconds"] = retry_after
        self.retry_after = retry_after

    def status(self) -> dict[str, Any]:
        status: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            status["reason"] = self.reason
        if self.details:
            status["details"] = self.details
        status["code"] = self.code
        return status


def _about(kind: Kind, name: str, *, by_kind: bool = False) -> dict[str, Any]:
    details: dict[str, Any] = {"name": name} if name else {}
    if kind.group:
        details["group"] = kind.group
    details["kind"] = kind.name if by_kind else kind.plural
    return details


def not_found(kind: Kind, name: str) -> ApiError:
    return ApiError(404, "NotFound", f'{kind.bucket} "{name}" not found', details=_about(kind, name))


def no_subresource(kind: Kind, name: str) -> ApiError:
    return ApiError(
        404, "NotFound", f"{kind.bucket} has no {name}: the objects of this kind are written whole", details={}
    )


def already_exists(kind: Kind, name: str) -> ApiError:
    return ApiError(409, "AlreadyExists", f'{kind.bucket} "{name}" already exists', details=_about(kind, name))


def conflict(kind: Kind, name: str, why: str = "") -> ApiError:
    why = why or "the object has been modified; please apply your changes to the latest version and try again"
    return ApiError(
        409, "Conflict", f'Operation cannot be fulfilled on {kind.bucket} "{name}": {why}', details=_about(kind, name)
    )


def invalid(kind: Kind, name: str, errors: Sequence[FieldError]) -> ApiError:
    shown = f"{kind.name}.{kind.group}" if kind.group else kind.name
    return _invalid(shown, name, _about(kind, name, by_kind=True), errors)


def invalid_options(options: str, errors: Sequence[FieldError]) -> ApiError:
    return _invalid(f"{options}.meta.k8s.io", "", {"group": "meta.k8s.io", "kind": options}, errors)


def _invalid(shown: str, name: str, details: dict[str, Any], errors: Sequence[FieldError]) -> ApiError:
    listed = ", ".join(str(error) for error in errors)
    message = f'{shown} "{name}" is invalid: {f"[{listed}]" if len(errors) > 1 else listed}'
    causes = [
        {"reason": str(error.type), "message": error.message, "field": error.field or "<nil>"} for error in errors
    ]
    return ApiError(422, "Invalid", message, details={**details, "causes": causes})


def bad_request(message: str) -> ApiError:
    return ApiError(400, "BadRequest", message)


def forbidden(kind: Kind, name: str, why: str) -> ApiError:
    shown = f' "{name}"' if name else ""
    return ApiError(403, "Forbidden", f"{kind.bucket}{shown} is forbidden: {why}", details=_about(kind, name))


def method_not_allowed() -> ApiError:
    return ApiError(
        405, "MethodNotAllowed", "the server does not allow this method on the requested resource", details={}
    )


def unsupported_media_type(accepted: Sequence[str]) -> ApiError:
    return ApiError(
        415,
        "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types include: " + ", ".join(accepted),
    )


def expired(message: str) -> ApiError:
    return ApiError(410, "Expired", message)


def too_large_revision(asked: int, current: int) -> ApiError:
    return ApiError(
        504,
        "Timeout",
        f"Timeout: Too large resource version: {asked}, current: {current}",
        details={"causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]},
        retry_after=1,
    )


def unavailable(message: str) -> ApiError:
    return ApiError(503, "ServiceUnavailable", message, retry_after=1)
