"""The API objects: types, defaults, validation, conversion between versions, printer columns, schemas.

One source of truth per kind: its msgspec Structs. `schema` reads them into a tree of nodes, and everything generic (field
validation, patches, server-side apply, protobuf, OpenAPI) works on that tree, so a user's CRD gets the same treatment.
Imports fairway.core's amounts and nothing else of fairway.
"""
