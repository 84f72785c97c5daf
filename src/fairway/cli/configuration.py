"""The configuration file of queueing, as `fairway up --config` gives it."""

from __future__ import annotations

from pathlib import Path

from fairway.control.configuration import Configuration, ConfigurationError, load
from fairway.runtime.status import Problem


def read(path: Path) -> Configuration:
    """Raises Problem for a file that cannot be read or says what makes no sense."""
    try:
        return load(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise Problem(f"cannot read the configuration: {error}", "give a file with --config, or leave it out") from None
    except ConfigurationError as error:
        raise Problem(str(error), "correct the file; the fields are those of Kueue's Configuration") from None
