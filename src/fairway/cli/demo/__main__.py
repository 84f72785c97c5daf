"""`make demo`, and `make demo DEMO=teams`."""

from __future__ import annotations

import sys

from fairway.cli.demo import fleet, teams

PLAYS = {"fleet": fleet.play, "teams": teams.play}


def main(arguments: list[str]) -> None:
    name = arguments[0] if arguments else "fleet"
    if name not in PLAYS:
        raise SystemExit(f"there is no demo {name!r}; there are: {', '.join(PLAYS)}")
    PLAYS[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
