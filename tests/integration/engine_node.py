"""A node reduced to its engine, to be killed: asks for the runs in a file, forgets what a file names, prints each end, and ends with the last.

    python -m tests.integration.engine_node FOLDER RUNS

RUNS has a run in each line: {"id": ..., "argv": [...], "stop": bool, "forget": bool}.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from pathlib import Path

from fairway.engines.engine import Limits, RunSpec
from fairway.engines.process import ProcessEngine


async def main(folder: Path, runs: list[str]) -> None:
    wanted = {line["id"]: line for line in map(json.loads, runs)}
    async with ProcessEngine(folder) as engine:
        for run_id, run in wanted.items():
            limits = Limits(memory_bytes=run.get("memory"))
            await engine.start(RunSpec(run_id, tuple(run["argv"]), limits=limits))
            if run.get("stop"):
                await engine.stop(run_id, 0)
        left = set(wanted)
        async with contextlib.aclosing(engine.watch()) as changes:
            async for status in changes:
                if status.final and status.id in left:
                    left.discard(status.id)
                    print(json.dumps([status.id, status.state, status.exit_code, status.reason]), flush=True)
                    if wanted[status.id].get("forget"):
                        await engine.forget(status.id)
                if not left:
                    break


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]).read_text().splitlines()))
