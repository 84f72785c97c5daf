"""Code bundles: the files of a job, packed into one archive under the name of its content, and unpacked where the job runs.

A reference says where a bundle is and what must be in it: `file:///shared/objects/default/bundles/HASH.tar.gz#sha256:HASH`. Whoever unpacks
one trusts nothing else: the hash must be right, and no entry may leave the folder.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import os
import posixpath
import shutil
import tarfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from urllib.parse import quote, unquote, urlsplit

ANNOTATION = "fairway.dev/bundle"
"""Of a pod: the reference of the bundle that is unpacked in its working folder."""
VARIABLE = "FAIRWAY_BUNDLE"
PACKED_BYTES_MAX = 64 << 20
UNPACKED_BYTES_MAX = 1 << 30
FILES_MAX = 20_000
_MARK = "#sha256:"
_HEX = frozenset("0123456789abcdef")


class BundleError(Exception):
    """What is wrong with a bundle, or with the way to it."""


class Reference(NamedTuple):
    uri: str
    digest: str

    def __str__(self) -> str:
        return f"{self.uri}{_MARK}{self.digest}"


def parse(text: str) -> Reference:
    uri, mark, digest = text.partition(_MARK)
    if not mark or len(digest) != 64 or not set(digest) <= _HEX:
        raise BundleError(f"{text!r} does not say which bundle it means: it must end with {_MARK} and 64 hex digits")
    return Reference(uri, digest)


# --- pack -----------------------------------------------------------------------------------------------------------


def pack(files: Iterable[tuple[str, Path]]) -> bytes:
    """An archive of files under the names given. The same content makes the same bytes: no times, no owners, in order."""
    packed = io.BytesIO()
    with (
        gzip.GzipFile("", "wb", 6, packed, mtime=0) as squeezed,
        tarfile.open(fileobj=squeezed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name, path in sorted(files):
            _add(archive, name, path)
    data = packed.getvalue()
    if len(data) > PACKED_BYTES_MAX:
        raise BundleError(f"the bundle is {len(data) >> 20} MiB packed; the limit is {PACKED_BYTES_MAX >> 20} MiB")
    return data


def _add(archive: tarfile.TarFile, name: str, path: Path) -> None:
    entry = tarfile.TarInfo(name)
    try:
        if path.is_symlink():
            entry.type, entry.linkname = tarfile.SYMTYPE, os.readlink(path)
            _check_link(entry)
            archive.addfile(entry)
            return
        with path.open("rb") as file:
            found = os.fstat(file.fileno())
            entry.mode = 0o755 if found.st_mode & 0o100 else 0o644
            entry.size = found.st_size
            archive.addfile(entry, file)
    except OSError as error:
        raise BundleError(f"cannot read {path}: {error.strerror or error}") from None


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


# --- keep -----------------------------------------------------------------------------------------------------------


def folder_of(uri: str) -> Path:
    """The folder of an object store. Raises BundleError for a store of another kind."""
    parts = urlsplit(uri)
    path = unquote(parts.path)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost") or not path.startswith("/"):
        raise BundleError(f"{uri} is no object store that can be used here: only folders can, as file:///PATH")
    return Path(path)


def put(store: Path, data: bytes) -> Reference:
    """Keep a bundle in a store; one that is there already is not written again."""
    name = digest(data)
    folder = store / "bundles"
    path = folder / f"{name}.tar.gz"
    try:
        if not path.is_file():
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            aside = folder / f".{name}.{os.getpid()}"
            try:
                aside.write_bytes(data)
                aside.replace(path)
            finally:
                aside.unlink(missing_ok=True)
    except OSError as error:
        raise BundleError(f"cannot write to the object store {store}: {error.strerror or error}") from None
    return Reference(f"file://{quote(str(path))}", name)


def get(reference: Reference) -> bytes:
    path = folder_of(reference.uri)
    try:
        with path.open("rb") as file:
            data = file.read(PACKED_BYTES_MAX + 1)
    except OSError as error:
        raise BundleError(
            f"cannot read {path}: {error.strerror or error}; every cluster of a pool must reach the pool's object store"
        ) from None
    if digest(data) != reference.digest:
        raise BundleError(f"{path} is not the bundle that was submitted: its content has another hash")
    return data


# --- unpack ---------------------------------------------------------------------------------------------------------


def unpack(data: bytes, folder: Path) -> None:
    """Into a folder that is not there yet: it is there whole, or not at all."""
    aside = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(aside, ignore_errors=True)
    try:
        aside.mkdir(parents=True)
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as archive:
            _extract(archive, aside)
        aside.rename(folder)
    except (tarfile.TarError, EOFError, gzip.BadGzipFile) as error:
        raise BundleError(f"the bundle is no archive: {error}") from None
    except OSError as error:
        raise BundleError(f"cannot unpack into {folder}: {error.strerror or error}") from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _extract(archive: tarfile.TarFile, folder: Path) -> None:
    size, links = 0, []
    for count, entry in enumerate(archive, 1):
        size += entry.size
        if count > FILES_MAX or size > UNPACKED_BYTES_MAX:
            raise BundleError(f"the bundle has more than {FILES_MAX} files or {UNPACKED_BYTES_MAX >> 20} MiB")
        path = folder / _inside(entry.name)
        if entry.isdir():
            path.mkdir(parents=True, exist_ok=True)
        elif entry.issym():
            _check_link(entry)
            links.append((path, entry.linkname))
        elif entry.isreg():
            _write(archive, entry, path)
        else:
            raise BundleError(f"{entry.name!r} in the bundle is neither a file, a folder nor a symbolic link")
    # Last, so that nothing is ever written through one of them.
    for path, target in links:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.symlink(target, path)


def _write(archive: tarfile.TarFile, entry: tarfile.TarInfo, path: Path) -> None:
    content = archive.extractfile(entry)
    assert content is not None, "it is a regular file"
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = 0o755 if entry.mode & 0o100 else 0o644
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    with os.fdopen(fd, "wb") as file, contextlib.closing(content):
        shutil.copyfileobj(content, file)


def _inside(name: str) -> PurePosixPath:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts or "\0" in name:
        raise BundleError(f"{name!r} in the bundle would leave its folder")
    return path


def _check_link(entry: tarfile.TarInfo) -> None:
    """A link may lead anywhere in the bundle, and nowhere else."""
    target = posixpath.normpath(posixpath.join(posixpath.dirname(str(_inside(entry.name))), entry.linkname))
    if posixpath.isabs(entry.linkname) or target == ".." or target.startswith("../"):
        raise BundleError(f"the link {entry.name!r} leads out of the bundle, to {entry.linkname!r}")
