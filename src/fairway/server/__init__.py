"""HTTP over fairway.api: Kubernetes-style REST, watch streams, tables, discovery, OpenAPI, authentication, limits, metrics.

Raw ASGI: a framework's routing and response objects would cost as much as the request itself.
"""
