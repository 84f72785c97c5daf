"""core/v1. Types are spread over modules by what they describe; `kinds` puts
types, defaults, validation and columns together, `inert` those of kinds that are only kept."""

from fairway.kinds.k8s.core import inert, kinds

KINDS = (*kinds.KINDS, *inert.KINDS)

__all__ = ["KINDS"]
