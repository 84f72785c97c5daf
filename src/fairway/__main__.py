"""`python -m fairway`: the same as the `fairway` command."""

import sys

from fairway.cli.main import app

sys.exit(app())
