"""For all tests: what our own controllers report is compared with what the long way, with every check, makes of it."""

from __future__ import annotations

from fairway.api.notes import Notes
from fairway.api.reports import Reports

Reports.compared = Notes.compared = True
