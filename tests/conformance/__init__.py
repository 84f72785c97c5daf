"""Kueue's and KubeFleet's behaviour as data, run through our own code.

`runner` loads vectors and knows one adapter per driver; the adapters live in `<family>_<topic>` modules and translate a
vector's objects into a call of the real code. An adapter never looks at a case's name: other folders of the same kinds
of vectors are run through it.
"""
