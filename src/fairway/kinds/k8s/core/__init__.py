"""core/v1. Types are spread over modules by what they describe; `kinds` puts types, defaults, validation and columns together."""

from fairway.kinds.k8s.core.kinds import KINDS

__all__ = ["KINDS"]
