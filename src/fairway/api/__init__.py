"""Object semantics over a store: selectors, patches, server-side apply, clients and the reflector that follows a list.

Knows fairway.kinds and fairway.store; control, fleet and server see it through its Client.
"""
