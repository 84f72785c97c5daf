"""Code bundles: what goes in, that the same content is the same bundle, and that nothing gets out of its folder."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.cli import bundling
from fairway.engines import bundles
from fairway.engines.bundles import BundleError
from fairway.runtime.status import Problem


def make(folder: Path, **files: str) -> Path:
    for name, content in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return folder


def archive(*entries: tarfile.TarInfo) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as made:
        for entry in entries:
            entry.size = 1 if entry.isreg() else 0
            made.addfile(entry, io.BytesIO(b"x"))
    return packed.getvalue()


def entry(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname = kind, link
    return made


def names(files: bundling.Files) -> list[str]:
    return [name for name, _path in files]


def test_a_bundle_comes_out_as_it_went_in(tmp_path: Path) -> None:
    source = make(tmp_path / "in", main_py="print(1)", lib__a_py="a = 1")
    (source / "run.sh").write_text("#!/bin/sh\n")
    (source / "run.sh").chmod(0o700)
    (source / "link").symlink_to("lib/a.py")
    reference = bundles.put(tmp_path / "store", bundles.pack(bundling.files_of([], source, tmp_path)))
    bundles.unpack(bundles.get(bundles.parse(str(reference))), tmp_path / "out")
    out = tmp_path / "out"
    assert (out / "lib/a.py").read_text() == (out / "link").read_text() == "a = 1"
    assert os.access(out / "run.sh", os.X_OK)
    assert not os.access(out / "main.py", os.X_OK)
    assert [each.name for each in (tmp_path).iterdir() if each.name.startswith(".")] == []


@settings(max_examples=30, deadline=None)
@given(st.dictionaries(st.sampled_from(["a", "b/c", "b/d", "e"]), st.binary(max_size=50), min_size=1))
def test_the_same_content_is_the_same_bundle_whenever_and_in_whatever_order_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes]
) -> None:
    packed = []
    for order in (files, dict(reversed(files.items()))):
        folder = tmp_path_factory.mktemp("in")
        for name, content in order.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(content)
            os.utime(folder / name, (len(packed), len(packed)))
        packed.append(bundles.pack(bundling.files_of([], folder, folder)))
    assert packed[0] == packed[1]


def test_a_bundle_that_is_kept_is_not_written_again(tmp_path: Path) -> None:
    first = bundles.put(tmp_path, b"x")
    (tmp_path / "bundles" / f"{first.digest}.tar.gz").chmod(0o400)
    assert bundles.put(tmp_path, b"x") == first
    assert len(list((tmp_path / "bundles").iterdir())) == 1


def test_another_content_than_was_submitted_is_refused(tmp_path: Path) -> None:
    reference = bundles.put(tmp_path, b"what was submitted")
    (tmp_path / "bundles" / f"{reference.digest}.tar.gz").write_bytes(b"something else")
    with pytest.raises(BundleError, match="another hash"):
        bundles.get(reference)


def test_a_bundle_that_is_not_there_says_what_a_pool_needs(tmp_path: Path) -> None:
    gone = bundles.Reference(f"file://{tmp_path}/none.tar.gz", "0" * 64)
    with pytest.raises(BundleError, match="every cluster of a pool must reach the pool's object store"):
        bundles.get(gone)


@pytest.mark.parametrize(
    "bad",
    [
        entry("../out"),
        entry("/etc/passwd"),
        entry("a/../../out"),
        entry("link", tarfile.SYMTYPE, "/etc"),
        entry("link", tarfile.SYMTYPE, ".."),
        entry("a/link", tarfile.SYMTYPE, "../../x"),
        entry("hard", tarfile.LNKTYPE, "/etc/passwd"),
        entry("device", tarfile.CHRTYPE),
        entry("pipe", tarfile.FIFOTYPE),
    ],
    ids=lambda bad: f"{bad.name}-{bad.linkname}",
)
def test_nothing_leaves_the_folder(tmp_path: Path, bad: tarfile.TarInfo) -> None:
    with pytest.raises(BundleError):
        bundles.unpack(archive(entry("good"), bad), tmp_path / "here" / "out")
    assert [each.name for each in tmp_path.rglob("*")] == ["here"], "nothing of it is left either"


def test_nothing_is_written_through_a_link_of_the_bundle(tmp_path: Path) -> None:
    with pytest.raises(BundleError):
        bundles.unpack(
            archive(entry("d", tarfile.SYMTYPE, "e"), entry("d/x"), entry("d", tarfile.SYMTYPE, "e")), tmp_path / "o"
        )


@pytest.mark.parametrize(
    "data",
    [b"", b"no archive", gzip.compress(b"no archive"), archive(entry("x"))[:-20]],
    ids=["empty", "text", "compressed text", "cut off"],
)
def test_what_is_no_archive_is_a_clear_error(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(BundleError, match="no archive"):
        bundles.unpack(data, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_archive_that_swells_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundles, "UNPACKED_BYTES_MAX", 1000)
    (tmp_path / "big").write_bytes(b"\0" * 5000)
    with pytest.raises(BundleError, match="more than"):
        bundles.unpack(bundles.pack([("big", tmp_path / "big")]), tmp_path / "out")


@pytest.mark.parametrize("text", ["", "file:///x", "file:///x#sha256:12", f"file:///x#sha256:{'G' * 64}"])
def test_a_reference_without_a_hash_means_nothing(text: str) -> None:
    with pytest.raises(BundleError):
        bundles.parse(text)


@pytest.mark.parametrize("uri", ["s3://bucket/x", "file://elsewhere/x", "/x", "file:x", "http://host/x"])
def test_a_store_of_another_kind_is_named(uri: str) -> None:
    with pytest.raises(BundleError, match="only folders can"):
        bundles.folder_of(uri)


@pytest.mark.parametrize(
    ("command", "script"),
    [
        (["./train.sh"], "train.sh"),
        (["lib/a.py", "x"], "lib/a.py"),
        (["python", "train.py", "--fast"], "train.py"),
        (["python3.11", "-u", "train.py"], "train.py"),
        (["bash", "train.sh"], "train.sh"),
        (["/usr/bin/python3", "train.py"], "train.py"),
        (["venv/bin/python", "train.py"], "train.py"),
        (["python", "-m", "train.py"], ""),
        (["python", "-c", "train.py"], ""),
        (["python", "other.py"], ""),
        (["train.sh"], ""),
        (["cat", "train.py"], ""),
        (["sh", "-c", "./train.sh"], ""),
        (["python"], ""),
    ],
    ids=" ".join,
)
def test_the_local_script_of_a_command_is_found(tmp_path: Path, command: list[str], script: str) -> None:
    here = make(tmp_path, train_py="", train_sh="", lib__a_py="", venv__bin__python="")
    assert names(bundling.files_of(command, None, here)) == ([script] if script else [])


def test_modules_beside_a_python_script_come_along_if_it_imports_them(tmp_path: Path) -> None:
    make(
        tmp_path,
        train_py="import json\nimport helper\n\ndef late():\n    from models.large import Model\n",
        helper_py="from models import base\nimport not_there",
        models__init_py="",
        models__base_py="",
        models__large_py="from . import layers",
        models__layers_py="",
        models__unused_py="",
        unused_py="",
        data_csv="",
    )
    (tmp_path / "models" / "init.py").rename(tmp_path / "models" / "__init__.py")
    inside = ["__init__.py", "base.py", "large.py", "layers.py"]
    wanted = ["helper.py", *(f"models/{name}" for name in inside), "train.py"]
    assert names(bundling.files_of(["python", "train.py"], None, tmp_path)) == wanted
    below = bundling.files_of(["python", f"{tmp_path.name}/train.py"], None, tmp_path.parent)
    assert names(below) == [f"{tmp_path.name}/{name}" for name in wanted]


def test_a_script_that_cannot_be_read_as_python_comes_alone(tmp_path: Path) -> None:
    make(tmp_path, train_py="import helper\nprint 'old'", helper_py="")
    assert names(bundling.files_of(["python", "train.py"], None, tmp_path)) == ["train.py"]


def test_absolute_paths_mean_the_machine_where_it_runs(tmp_path: Path) -> None:
    make(tmp_path, train_py="")
    assert bundling.files_of(["python", str(tmp_path / "train.py")], None, tmp_path) == []


def test_a_script_outside_of_the_folder_is_refused(tmp_path: Path) -> None:
    make(tmp_path, train_py="", sub__x_py="")
    with pytest.raises(Problem, match="outside of this folder"):
        bundling.files_of(["python", "../train.py"], None, tmp_path / "sub")


def test_what_git_would_not_keep_stays_behind(tmp_path: Path) -> None:
    make(
        tmp_path,
        main_py="",
        debug_log="",
        keep_log="",
        build__out="",
        lib__build="",
        lib__deep__x_tmp="",
        lib__deep__y_py="",
        data__big="",
        lib__data__small="",
        __pycache____x="",
    )
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").touch()
    (tmp_path / ".gitignore").write_text("# all logs\n*.log\n!keep.log\n\nbuild/\n/data\nlib/**/*.tmp\n")
    (tmp_path / "lib" / ".gitignore").write_text("small\n")
    found = names(bundling.files_of([], tmp_path, tmp_path))
    assert found == [
        ".gitignore",
        "keep.log",
        "main.py",
        "lib/.gitignore",
        "lib/build",
        "lib/deep/y.py",
    ]


def test_a_folder_that_is_too_large_names_what_is_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundling, "BYTES_MAX", 10 << 20)
    make(tmp_path, main_py="")
    with (tmp_path / "weights.bin").open("wb") as file:
        file.truncate(20 << 20)
    with pytest.raises(Problem, match=r"20 MiB .* limit is 10 MiB.*weights\.bin \(20 MiB\)") as refused:
        bundling.files_of([], tmp_path, tmp_path)
    assert ".gitignore" in refused.value.remedy
    with pytest.raises(Problem, match="no such folder"):
        bundling.files_of([], tmp_path / "none", tmp_path)
