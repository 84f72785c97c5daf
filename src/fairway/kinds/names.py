"""Names, label keys and label values: what Kubernetes allows, said in the words that its users know.

Every function answers with the list of what is wrong; an empty list means the text is fine.
"""

from __future__ import annotations

import re
from functools import lru_cache

LABEL_MAX = 63
SUBDOMAIN_MAX = 253

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_CONFIG_KEY = "[-._a-zA-Z0-9]+"
_QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_QUALIFIED})?"

_ENDS = "and must start and end with an alphanumeric character"
_LABEL_RULE = (
    f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', {_ENDS}"
    f" (e.g. 'my-name',  or '123-abc', regex used for validation is '{_LABEL}')"
)
_LABEL_1035_RULE = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character,"
    f" and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '{_LABEL_1035}')"
)
_CONFIG_KEY_RULE = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
    f" (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '{_CONFIG_KEY}')"
)
_SUBDOMAIN_RULE = (
    f"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', {_ENDS}"
    f" (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)
_QUALIFIED_RULE = (
    f"must consist of alphanumeric characters, '-', '_' or '.', {_ENDS}"
    f" (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_QUALIFIED}')"
)
_VALUE_RULE = (
    f"a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', {_ENDS}"
    f" (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '{_VALUE}')"
)

_label = re.compile(_LABEL)
_label_1035 = re.compile(_LABEL_1035)
_config_key = re.compile(_CONFIG_KEY)
_subdomain = re.compile(_SUBDOMAIN)
_qualified = re.compile(_QUALIFIED)
_value = re.compile(_VALUE)


def dns_label(text: str) -> list[str]:
    return _too_long(text, LABEL_MAX) + ([] if _label.fullmatch(text) else [_LABEL_RULE])


def dns_1035_label(text: str) -> list[str]:
    """A label that does not start with a digit: names of Services."""
    return _too_long(text, LABEL_MAX) + ([] if _label_1035.fullmatch(text) else [_LABEL_1035_RULE])


def dns_subdomain(text: str) -> list[str]:
    if len(text) <= SUBDOMAIN_MAX and _subdomain.fullmatch(text):
        return []
    return _too_long(text, SUBDOMAIN_MAX) + ([] if _subdomain.fullmatch(text) else [_SUBDOMAIN_RULE])


def path_segment(text: str) -> list[str]:
    """What may stand in a URL: roles and their bindings have such names (system:node)."""
    problems = [f"may not be '{text}'"] if text in (".", "..") else []
    return problems + [f"may not contain '{mark}'" for mark in "/%" if mark in text]


def label_value(text: str) -> list[str]:
    if len(text) <= LABEL_MAX and _value.fullmatch(text):
        return []
    return _too_long(text, LABEL_MAX) + ([] if _value.fullmatch(text) else [_VALUE_RULE])


def config_key(text: str) -> list[str]:
    """A key of a ConfigMap or Secret, which may become a file name."""
    problems = _too_long(text, SUBDOMAIN_MAX) + ([] if _config_key.fullmatch(text) else [_CONFIG_KEY_RULE])
    if text in (".", ".."):
        problems.append(f"must not be '{text}'")
    elif text.startswith(".."):
        problems.append("must not start with '..'")
    return problems


def port_name(text: str) -> list[str]:
    problems = _too_long(text, 15)
    if not re.fullmatch("[-a-z0-9]+", text):
        problems.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", text):
        problems.append("must contain at least one letter (a-z)")
    if "--" in text:
        problems.append("must not contain consecutive hyphens")
    if text.startswith("-") or text.endswith("-"):
        problems.append("must not begin or end with a hyphen")
    return problems


def env_name(text: str) -> list[str]:
    """The name of an environment variable: any printable ASCII but the equals sign."""
    if all(" " <= mark <= "~" and mark != "=" for mark in text):
        return []
    return ["a valid environment variable name must consist only of printable ASCII characters other than '='"]


def qualified_name(text: str) -> list[str]:
    """A label key: a name, or a DNS subdomain, a slash and a name."""
    head, slash, name = text.rpartition("/")
    if "/" in head:
        return [
            f"a qualified name {_QUALIFIED_RULE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    problems = []
    if slash:
        problems = (
            [f"prefix part {problem}" for problem in dns_subdomain(head)] if head else ["prefix part must be non-empty"]
        )
    if not name:
        problems.append("name part must be non-empty")
    problems += [f"name part {problem}" for problem in _too_long(name, LABEL_MAX)]
    if not _qualified.fullmatch(name):
        problems.append(f"name part {_QUALIFIED_RULE}")
    return problems


@lru_cache(maxsize=4096)
def is_qualified_name(text: str) -> bool:
    """Remembered: the same few label keys come with every write."""
    return not qualified_name(text)


def _too_long(text: str, limit: int) -> list[str]:
    return [f"must be no more than {limit} characters"] if len(text) > limit else []
