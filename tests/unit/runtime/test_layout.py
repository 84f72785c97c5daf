"""What a folder is started as: remembered, grown, and never made smaller by the way."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairway.cli import fleet, launch
from fairway.cli.fleet import Asked
from fairway.runtime import layout
from fairway.runtime.datadir import DataDir
from fairway.runtime.layout import Layout, Member
from fairway.runtime.status import Problem


def asked(
    clusters: int | None = None, sizes: str = "", *, hub: bool = False, sized: bool = False, no_engine: bool = False
) -> Asked:
    return Asked(clusters, sizes, hub, sized, no_engine)


@pytest.fixture
def folder(tmp_path: Path) -> DataDir:
    return DataDir(tmp_path / "data")


def a_cluster(folder: DataDir) -> None:
    store = folder.store(layout.SINGLE)
    store.parent.mkdir(parents=True)
    store.touch()


def test_a_folder_of_which_nothing_is_known_is_one_cluster(folder: DataDir) -> None:
    assert layout.read(folder) == Layout()
    assert layout.read(folder).spaces == ("default",)
    assert fleet.settle(folder, asked()) == Layout()
    assert not folder.fleet_file.exists()


def test_a_fleet_of_three_has_clusters_of_different_sizes_and_is_remembered(folder: DataDir) -> None:
    made = fleet.settle(folder, asked(3))
    assert made.names == ("cluster-1", "cluster-2", "cluster-3")
    assert [(each.cpu, each.memory, each.gpus) for each in made.clusters] == [
        ("2", "4Gi", 0),
        ("4", "8Gi", 0),
        ("8", "16Gi", 1),
    ]
    assert made.spaces == ("hub",)
    assert fleet.settle(folder, asked()) == layout.read(folder) == made


def test_sizes_are_as_given_and_the_rest_as_they_were(folder: DataDir) -> None:
    made = fleet.settle(folder, asked(3, "1,2:1Gi,500m:256Mi:2"))
    assert [(each.cpu, each.memory, each.gpus) for each in made.clusters] == [
        ("1", "2Gi", 0),
        ("2", "1Gi", 0),
        ("500m", "256Mi", 2),
    ]
    again = fleet.settle(folder, asked(None, "6"))
    assert [each.cpu for each in again.clusters] == ["6", "2", "500m"]


@pytest.mark.parametrize("text", ["x", "1:2:3:4", ":1Gi", "1:1Gi:x", "0", "1:-1Gi", "-2"])
def test_a_size_that_makes_no_sense_changes_nothing(folder: DataDir, text: str) -> None:
    with pytest.raises(Problem, match="--cluster-sizes"):
        fleet.settle(folder, asked(1, text))
    assert not folder.fleet_file.exists()


def test_more_sizes_than_clusters_or_sizes_of_none_are_refused(folder: DataDir) -> None:
    with pytest.raises(Problem, match="3 sizes for 2 clusters"):
        fleet.settle(folder, asked(2, "1,2,3"))
    with pytest.raises(Problem, match="needs --clusters"):
        fleet.settle(folder, asked(None, "1"))


def test_a_fleet_grows_and_does_not_shrink_by_the_way(folder: DataDir) -> None:
    fleet.settle(folder, asked(3))
    with pytest.raises(Problem, match=r"has 3 clusters \(cluster-1, cluster-2, cluster-3\), not 2") as refused:
        fleet.settle(folder, asked(2))
    assert "fairway cluster rm cluster-3" in refused.value.remedy
    layout.write(folder, layout.without(layout.read(folder), "cluster-2"))
    grown = fleet.settle(folder, asked(3))
    assert grown.names == ("cluster-1", "cluster-3", "cluster-4"), "a removed cluster's folder is not taken over"


def test_a_folder_that_is_a_cluster_is_not_made_into_a_fleet_but_may_get_a_hub(folder: DataDir) -> None:
    a_cluster(folder)
    with pytest.raises(Problem, match="one cluster already") as refused:
        fleet.settle(folder, asked(3))
    assert "fairway up --hub" in refused.value.remedy
    assert fleet.settle(folder, asked(hub=True)).spaces == ("hub", "default"), "its objects stay where they are"


def test_a_new_hub_is_a_cluster_too_unless_it_has_no_engine(folder: DataDir, tmp_path: Path) -> None:
    assert fleet.settle(folder, asked(hub=True)).spaces == ("hub", "local")
    assert fleet.settle(folder, asked(2)).spaces == ("hub", "local")
    assert fleet.settle(folder, asked()).names == ("cluster-1", "cluster-2")
    other = DataDir(tmp_path / "other")
    assert fleet.settle(other, asked(hub=True, no_engine=True)).spaces == ("hub",)


def test_the_size_of_one_machine_means_nothing_to_a_hub_that_runs_nothing(folder: DataDir) -> None:
    with pytest.raises(Problem, match="--cpu, --memory and --gpus") as refused:
        fleet.settle(folder, asked(3, sized=True))
    assert "--cluster-sizes" in refused.value.remedy
    fleet.settle(folder, asked(hub=True, sized=True))


def test_a_file_that_makes_no_sense_is_a_problem_and_not_another_kind_of_folder(folder: DataDir) -> None:
    folder.create()
    folder.fleet_file.write_text("{")
    with pytest.raises(Problem, match=r"fleet\.json"):
        fleet.settle(folder, asked())


def test_the_launchers_beside_a_hub_get_their_own_size_and_what_holds_for_all(folder: DataDir) -> None:
    layout.write(folder, Layout(hub=True, clusters=(Member(name="cluster-1", cpu="2", gpus=1),)))
    machine = ["--no-engine", "--config", "/q.yaml", "--no-default-queue"]
    (one,) = launch.companions(folder, tls=False, machine=machine)
    words = list(one.command)
    assert words[words.index("--data") + 1] == str(folder.path / "clusters" / "cluster-1")
    for expected in (["--cpu", "2"], ["--gpus", "1"], ["--node-name", "cluster-1"], ["--config", "/q.yaml"]):
        assert words[words.index(expected[0]) + 1] == expected[1]
    assert {"--no-tls", "--no-default-queue"} <= set(words)
    assert "--no-engine" not in words
    (two,) = launch.companions(folder, tls=True, machine=["--cpu", "64", "--gpus", "8", "--config", "/q.yaml"])
    assert "64" not in two.command
    assert "8" not in two.command
