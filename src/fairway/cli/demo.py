"""`make demo`: a node from nothing in a folder of its own, two teams' queues and a job in it, looked at, and gone again."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml
from rich.console import Console

from fairway.api.client import Query, Resource
from fairway.api.remote import RemoteClient
from fairway.cli import kubeconfig
from fairway.runtime.datadir import DataDir
from fairway.runtime.transport import HttpTransport

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
_FILES = ("two-teams.yaml", "job.yaml")
_PLURALS = {
    "ResourceFlavor": ("resourceflavors", False),
    "ClusterQueue": ("clusterqueues", False),
    "LocalQueue": ("localqueues", True),
    "Namespace": ("namespaces", False),
    "Job": ("jobs", True),
}
console = Console(highlight=False)


def main() -> int:
    folder = Path(tempfile.mkdtemp(prefix="fairway-demo-"))
    try:
        _fairway(folder, "up", "--detach", "--port", "0")
        if shutil.which("kubectl"):
            _with_kubectl(folder)
        else:
            console.print("[dim]kubectl is not installed; the same through Fairway's own client:[/dim]")
            asyncio.run(_with_client(folder))
        _fairway(folder, "down")
    finally:
        subprocess.run([*_command(), "down", "--data", str(folder)], capture_output=True, check=False)
        shutil.rmtree(folder, ignore_errors=True)
    console.print(
        "\n[green]That was a whole node, and it left nothing behind.[/green] Start one to keep with: fairway up"
    )
    return 0


def _command() -> list[str]:
    return [sys.executable, "-m", "fairway"]


def _fairway(folder: Path, *arguments: str) -> None:
    console.print(f"[bold]$ fairway {' '.join(arguments)}[/bold]")
    subprocess.run([*_command(), *arguments, "--data", str(folder)], check=True)


def _with_kubectl(folder: Path) -> None:
    config = ["--kubeconfig", str(folder / "kubeconfig")]
    for arguments in (
        *(["apply", "-f", str(EXAMPLES / name)] for name in _FILES),
        ["get", "clusterqueues", "-o", "wide"],
        ["get", "localqueues,jobs", "-A"],
        ["explain", "clusterqueue.spec.preemption", "--api-version=kueue.x-k8s.io/v1beta2"],
    ):
        console.print(f"\n[bold]$ kubectl {' '.join(arguments)}[/bold]".replace(str(EXAMPLES), "examples"))
        subprocess.run(["kubectl", *config, *arguments], check=True)
    console.print()


async def _with_client(folder: Path) -> None:
    access = kubeconfig.access(DataDir.at(folder), None)
    client = RemoteClient(HttpTransport(access.server, access.ssl_context()), lambda: access.token)
    try:
        for name in _FILES:
            for document in yaml.safe_load_all((EXAMPLES / name).read_text(encoding="utf-8")):
                item = await client.create(_resource(document), document)
                console.print(f"{document['kind']} {item.meta.name} created")
        for kind in ("ClusterQueue", "LocalQueue", "Job"):
            plural, namespaced = _PLURALS[kind]
            group = ("batch", "v1") if kind == "Job" else ("kueue.x-k8s.io", "v1beta2")
            listing = await client.list(Resource(*group, plural, namespaced), Query())
            console.print(f"{plural}: {', '.join(sorted(item.meta.name for item in listing.items))}")
    finally:
        await client.close()


def _resource(document: dict[str, str]) -> Resource:
    group, _slash, version = document["apiVersion"].rpartition("/")
    plural, namespaced = _PLURALS[document["kind"]]
    return Resource(group, version, plural, namespaced)


if __name__ == "__main__":
    sys.exit(main())
