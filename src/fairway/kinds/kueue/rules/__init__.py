"""What makes an object of the group invalid, beyond the types and bounds that its Structs say.

Two layers, as with a real Kueue, and the second speaks only when the first is silent:

- *schema* rules: what the CustomResourceDefinition says about fields together (`schema(new, old)`);
- *admission* rules: what Kueue's webhooks say, some of them under a feature gate (`admission(new, old, gates)`).

`old` is None on create. Rules never look at other objects: a queue may name a cohort, flavor or check that comes later.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairway.kinds.errors import FieldError
from fairway.kinds.kueue.gates import DEFAULT, Gates
from fairway.kinds.unique import repeated

SchemaRules = Callable[[Any, Any | None], list[FieldError]]
AdmissionRules = Callable[[Any, Any | None, Gates], list[FieldError]]


def no_schema_rules(_new: Any, _old: Any | None) -> list[FieldError]:
    return []


def no_admission_rules(_new: Any, _old: Any | None, _gates: Gates) -> list[FieldError]:
    return []


def validator(
    schema: SchemaRules = no_schema_rules, admission: AdmissionRules = no_admission_rules, gates: Gates = DEFAULT
) -> Callable[[Any, Any | None], list[FieldError]]:
    """Both layers as the one function that a Kind wants."""

    def validate(new: Any, old: Any | None) -> list[FieldError]:
        return repeated(new, old) + schema(new, old) or admission(new, old, gates)

    return validate
