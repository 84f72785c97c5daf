"""`fairway submit`: objects written as YAML. Each is submitted by itself: one that is refused does not keep the others, and in the end it is said
which were, with file and place."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from fairway.api.client import Resource
from fairway.api.errors import ApiError
from fairway.cli import options
from fairway.cli.output import Output, say, show_json
from fairway.cli.people import Namespace, talk
from fairway.runtime.status import Problem
from fairway.sdk.aio import AsyncClient, current_user
from fairway.sdk.request import USER_ANNOTATION


@dataclass(frozen=True, slots=True)
class Document:
    place: str
    """The file and, where it has several, which of them."""
    body: dict[str, Any]

    @property
    def shown(self) -> str:
        name = self.metadata.get("name") or self.metadata.get("generateName") or "without a name"
        return f"{self.body['kind']} {name}"

    @property
    def metadata(self) -> dict[str, Any]:
        return self.body.get("metadata") or {}


def submit(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE…", help="YAML with jobs (or anything else); - reads stdin.")
    ],
    data: options.Data = None,
    namespace: Namespace = "default",
    output: options.Format = Output.TEXT,
) -> None:
    """Submit jobs written as YAML."""
    documents = [document for file in files for document in _documents(file)]
    if not documents:
        raise Problem(
            f"there is nothing in {', '.join(map(str, files))}", "a Job starts with: apiVersion: batch/v1, kind: Job"
        )
    refused: list[str] = []

    async def work(client: AsyncClient) -> list[dict[str, Any]]:
        made: list[dict[str, Any]] = []
        for document in documents:
            try:
                made.append(await _submit(client, document, namespace))
            except ApiError as error:
                refused.append(f"{document.place}: {error.message}")
                continue
            if output is Output.TEXT:
                say(f"{document.body['kind']} {made[-1]['metadata']['name']} submitted")
        return made

    made = talk(data, namespace, work)
    if output is Output.JSON:
        show_json(made)
    if refused:
        others = f" ({len(made)} of {len(documents)} submitted)" if made else ""
        raise Problem("\n       ".join(refused) + others)


async def _submit(client: AsyncClient, document: Document, namespace: str) -> dict[str, Any]:
    group, _slash, version = document.body["apiVersion"].rpartition("/")
    plural, namespaced = await client.resource_of(group, version, document.body["kind"])
    resource = Resource(group, version, plural, namespaced)
    if group == "batch" and document.metadata and USER_ANNOTATION not in (document.metadata.get("annotations") or {}):
        document.metadata["annotations"] = {
            **(document.metadata.get("annotations") or {}),
            USER_ANNOTATION: current_user(),
        }
    where = (document.metadata.get("namespace") or namespace) if namespaced else ""
    return (await client.api.create(resource, document.body, where)).json()


def _documents(file: Path) -> list[Document]:
    name = "stdin" if str(file) == "-" else str(file)
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
        found = [(at, body) for at, body in enumerate(yaml.safe_load_all(text), 1) if body is not None]
    except FileNotFoundError:
        raise Problem(f"there is no file {file}") from None
    except IsADirectoryError:
        raise Problem(f"{file} is a folder", f"name the files in it: fairway submit {file}/*.yaml") from None
    except (OSError, UnicodeDecodeError) as error:
        raise Problem(f"cannot read {file}: {error}") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise Problem(f"{name}{where}: not valid YAML: {error.problem or error.context}") from None
    except yaml.YAMLError as error:
        raise Problem(f"{name} is not valid YAML: {' '.join(str(error).split())}") from None
    return [_document(f"{name}, document {at}" if len(found) > 1 else name, body) for at, body in found]


def _document(place: str, body: Any) -> Document:
    if not isinstance(body, dict):
        raise Problem(f"{place} is no object: it must say apiVersion, kind and metadata")
    for field in ("apiVersion", "kind"):
        if not isinstance(body.get(field), str) or not body[field]:
            raise Problem(f"{place}: it must say {field}", "a Job starts with: apiVersion: batch/v1, kind: Job")
    if not isinstance(body.get("metadata") or {}, dict):
        raise Problem(f"{place}: metadata must have fields, like metadata: {{name: my-job}}")
    return Document(place, body)
