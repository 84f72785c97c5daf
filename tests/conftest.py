"""For all tests: what our own controllers report is compared with what the long way, with every check, makes of it; no example is too slow."""

from __future__ import annotations

from hypothesis import settings

from fairway.api.notes import Notes
from fairway.api.reports import Reports

Reports.compared = Notes.compared = True
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
