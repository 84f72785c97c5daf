"""python -m tests.conformance FOLDER [--suite A,B] [--json]: run vectors, exit 1 if one fails."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from tests.conformance import runner


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("folder", type=Path, help="a folder with vector files (*.json)")
    parser.add_argument("--suite", default="", help="letters of the suites to run, for example A,B (default: all)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("-v", "--verbose", action="store_true", help="say how each failed vector differs")
    options = parser.parse_args(arguments)
    if not options.folder.is_dir():
        parser.error(f"{options.folder} is not a folder: name the folder that holds the vector files")
    suites = frozenset(part.strip() for part in options.suite.split(",") if part.strip())
    results = runner.run(options.folder, suites)
    if options.json:
        document = {
            name: {"passed": result.passed, "failed": list(result.failed), "unsupported": list(result.unsupported)}
            for name, result in results.items()
        }
        print(json.dumps({"suites": document}, indent=1))
    else:
        for name, result in results.items():
            print(f"{name}: {result.passed} passed, {len(result.failed)} failed, {len(result.unsupported)} unsupported")
            for identity, difference in result.failed.items():
                print(f"  FAILED {identity}")
                if options.verbose:
                    print("    " + difference.replace("\n", "\n    "))
            if options.verbose:
                for identity, reason in result.unsupported.items():
                    print(f"  unsupported {identity}: {reason}")
    return 1 if any(result.failed for result in results.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
