"""Act, on one cluster: engines run the containers of pods. One small interface, one shim under all of them.

Knows nothing of objects or the API: a run is a command with an id, and that id is all an engine and its caller have in common after a crash.
Imports fairway.runtime and nothing else of fairway.
"""
