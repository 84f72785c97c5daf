"""Authorization with the Kubernetes RBAC kinds: rules, an index of who holds them, decisions, and what keeps privileges from growing.

rules.py       what a rule allows and covers          authorizer.py   may this caller do that?
index.py       from a caller to its rules             escalation.py   nobody gives what they do not hold
bootstrap.py   roles that every new space has
"""

from fairway.server.rbac.authorizer import Attributes, Authorizer, Decision, attributes, denial
from fairway.server.rbac.rules import Rule

__all__ = ["Attributes", "Authorizer", "Decision", "Rule", "attributes", "denial"]
