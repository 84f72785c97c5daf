"""Requests that are answered and never stored: reviews of access and identity, and the bodies of subresources."""
