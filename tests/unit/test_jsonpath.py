from __future__ import annotations

import pytest

from fairway.kinds.jsonpath import PathError, find, find_all, parse

OBJECT = {
    "metadata": {"name": "a", "annotations": {"example.com/x": "dotted"}},
    "spec": {"replicas": 3, "items": [{"port": 1}, {"port": 2}]},
    "status": {
        "conditions": [
            {"type": "Joined", "status": "False", "observedGeneration": 4},
            {"type": "Ready", "status": "True"},
        ]
    },
}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (".spec.replicas", 3),
        ("{.spec.replicas}", 3),
        (".spec.items[1].port", 2),
        (".spec.items[-1].port", 2),
        (".spec.items[7].port", None),
        ('.status.conditions[?(@.type=="Ready")].status', "True"),
        (".status.conditions[?(@.type=='Joined')].observedGeneration", 4),
        (".status.conditions[?(@.observedGeneration>3)].type", "Joined"),
        (".status.conditions[?(@.observedGeneration>'x')].type", None),
        (r".metadata.annotations.example\.com/x", "dotted"),
        (".metadata.annotations['example.com/x']", "dotted"),
        (".spec.missing.deeper", None),
        (".spec.replicas.deeper", None),
    ],
)
def test_a_path_leads_to_its_first_value(path: str, value: object) -> None:
    assert find(OBJECT, path) == value


def test_a_star_leads_to_every_item() -> None:
    assert list(find_all(OBJECT, ".spec.items[*].port")) == [1, 2]


@pytest.mark.parametrize("path", ["", "spec.x", ".", "..spec", ".spec[", ".a[?(@.b)]", ".a[?(@.b==c d)]", ".a b"])
def test_a_path_that_cannot_be_followed_is_named_in_the_error(path: str) -> None:
    with pytest.raises(PathError) as error:
        parse(path)
    assert repr(path) in str(error.value)
