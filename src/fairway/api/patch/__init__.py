"""The patches of the Kubernetes API as pure functions on plain JSON values.

`merge` (RFC 7386), `json` (RFC 6902), `strategic` (lists merged by key, as the schema says) and `apply` (server-side apply, with
the field sets of `fieldset` and the comparison of `structure`). None changes its arguments: results share what was not touched.
Imports fairway.kinds' schema and nothing else of fairway.
"""
