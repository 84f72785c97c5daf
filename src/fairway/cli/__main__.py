import sys

from fairway.cli.main import app

sys.exit(app())
