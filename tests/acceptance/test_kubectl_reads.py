"""What kubectl shows: lists, pages, documentation, and clear words about what is not there."""

from __future__ import annotations

import json

import pytest
import yaml

from tests.acceptance.objects import cluster_queue, config_map, job
from tests.acceptance.support import Kubectl, Node


def test_lists_are_sorted_paged_and_selected(kubectl: Kubectl) -> None:
    jobs = [job(f"job-{number}", parallelism=10 - number) for number in range(5)]
    for number, each in enumerate(jobs):
        each["metadata"]["labels"] = {"team": "red" if number % 2 else "blue"}
    kubectl.apply(*jobs)
    names = [f"job-{number}" for number in range(5)]
    assert [row[0] for row in kubectl("get", "jobs").rows] == names
    assert [row[0] for row in kubectl("get", "jobs", "--chunk-size=2").rows] == names
    assert [row[0] for row in kubectl("get", "jobs", "--sort-by=.spec.parallelism").rows] == names[::-1]
    assert kubectl("get", "jobs", "-l", "team=red", "-o", "name").lines == ["job.batch/job-1", "job.batch/job-3"]
    assert kubectl("get", "jobs", "-l", "team notin (red)", "--no-headers", "-o", "name").lines == [
        f"job.batch/job-{number}" for number in (0, 2, 4)
    ]
    assert kubectl("get", "jobs", "--field-selector=metadata.name=job-2", "-o", "name").lines == ["job.batch/job-2"]
    assert "team=blue" in kubectl("get", "jobs", "job-0", "--show-labels").out
    assert kubectl("get", "jobs", "-L", "team").headings[-1] == "TEAM"
    assert 'field label "spec.foo" not supported' in kubectl.fails("get", "jobs", "--field-selector=spec.foo=1")


def test_categories_short_names_and_several_kinds_at_once(kubectl: Kubectl, cluster: Kubectl) -> None:
    kubectl.apply(job("a"), config_map("c"))
    assert kubectl("get", "all", "-o", "name").lines == ["job.batch/a"]
    assert set(kubectl("get", "job,cm", "-o", "name").lines) == {"job.batch/a", "configmap/c"}
    assert kubectl("get", "job/a", "cm/c", "-o", "name").lines == ["job.batch/a", "configmap/c"]
    for short in ("cq", "crp", "rp", "rf", "flavor", "lq", "queue", "kwl", "ev", "crd", "pc"):
        cluster("get", short)


def test_a_list_as_text_is_a_list_in_yaml_and_json(kubectl: Kubectl) -> None:
    kubectl.apply(config_map("a", x="1"), config_map("b", x="2"))
    shown = kubectl.json("get", "cm")
    assert shown["kind"] == "List"
    assert [(each["metadata"]["name"], each["data"]["x"]) for each in shown["items"]] == [("a", "1"), ("b", "2")]
    assert yaml.safe_load(kubectl("get", "cm", "-o", "yaml").out) == shown
    assert kubectl("get", "cm", "-o", "jsonpath={range .items[*]}{.metadata.name}={.data.x};{end}").out == "a=1;b=2;"
    assert kubectl("get", "cm", "-o", "go-template={{len .items}}").out == "2"


def test_what_is_not_there_is_named(kubectl: Kubectl, namespace: str, cluster: Kubectl) -> None:
    assert kubectl.fails("get", "job", "nope") == 'Error from server (NotFound): jobs.batch "nope" not found'
    assert kubectl.fails("get", "cq", "nope").endswith('clusterqueues.kueue.x-k8s.io "nope" not found')
    assert kubectl.run("get", "job").err == f"No resources found in {namespace} namespace.\n"
    assert cluster.fails("get", "boats") == 'error: the server doesn\'t have a resource type "boats"'
    said = cluster.fails("create", "configmap", "x", "-n", "nowhere")
    assert said.endswith('namespaces "nowhere" not found')
    assert kubectl.fails("logs", "nope").endswith(f'pods "nope" not found in namespace "{namespace}"')


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("clusterqueue.spec.resourceGroups", ["coveredResources", "<[]string>", "-required-"]),
        ("localqueue.spec.clusterQueue", ["KIND:       LocalQueue", "<string>"]),
        ("crp.spec.policy", ["placementType", "enum: PickAll, PickN, PickFixed", "numberOfClusters"]),
        ("resourceplacement.spec.strategy.rollingUpdate", ["maxUnavailable", "maxSurge"]),
        ("resourceflavor.spec", ["nodeLabels", "<map[string]string>"]),
        ("job.spec.template.spec.containers", ["image", "command", "resources"]),
        ("namespace", ["VERSION:    v1"]),
    ],
)
def test_fields_are_explained(cluster: Kubectl, what: str, words: list[str]) -> None:
    said = cluster("explain", what).out
    for word in words:
        assert word in said


def test_whole_kinds_are_explained_in_every_version(cluster: Kubectl) -> None:
    for kind in ("clusterqueue", "crp", "job"):
        tree = cluster("explain", kind, "--recursive").out
        assert "spec" in tree
        assert "  metadata\t<ObjectMeta>" in tree
    older = cluster("explain", "clusterqueue.spec.cohort", "--api-version=kueue.x-k8s.io/v1beta1").out
    assert "VERSION:    v1beta1" in older
    assert "does not exist" in cluster.fails("explain", "clusterqueue.spec.nope")


def test_the_api_lists_itself(cluster: Kubectl) -> None:
    versions = cluster("api-versions").lines
    for version in ("v1", "batch/v1", "kueue.x-k8s.io/v1beta1", "kueue.x-k8s.io/v1beta2"):
        assert version in versions
    for group in ("placement.kubernetes-fleet.io", "cluster.kubernetes-fleet.io"):
        assert {f"{group}/v1", f"{group}/v1beta1"} <= set(versions)
    resources = cluster("api-resources", "-o", "wide").out
    for word in (
        "clusterqueues",
        "cq",
        "clusterresourceplacements",
        "crp",
        "ResourcePlacement",
        "customresourcedefinitions",
    ):
        assert word in resources
    kueue = cluster("api-resources", "--api-group=kueue.x-k8s.io", "-o", "name").lines
    assert {f"{plural}.kueue.x-k8s.io" for plural in ("clusterqueues", "localqueues", "workloads")} <= set(kueue)
    bound = cluster("api-resources", "--namespaced=true", "-o", "name").lines
    assert "jobs.batch" in bound
    assert "clusterqueues.kueue.x-k8s.io" not in bound
    assert "fairway" in cluster("version").out
    assert "is running at https://127.0.0.1:" in cluster("cluster-info").out
    assert cluster("get", "--raw", "/healthz").out == "ok"


def test_contexts_can_be_switched(
    shared_node: Node, cluster: Kubectl, tmp_path_factory: pytest.TempPathFactory
) -> None:
    config = tmp_path_factory.mktemp("contexts") / "config"
    config.write_bytes(shared_node.kubeconfig.read_bytes())
    kubectl = Kubectl(cluster.program, config, cluster.home)
    current = kubectl("config", "current-context").out.strip()
    assert current in kubectl("config", "get-contexts", "-o", "name").lines
    kubectl(
        "config", "set-context", "mine", f"--cluster={_cluster_of(kubectl)}", "--user=nobody", "--namespace=kube-system"
    )
    kubectl("config", "set-credentials", "nobody", "--token=fwt_not_a_token")
    kubectl("config", "use-context", "mine")
    said = kubectl.fails("get", "cm")
    assert "Unauthorized" in said or "You must be logged in" in said
    kubectl("--context", current, "get", "cm")
    kubectl("config", "use-context", current)
    kubectl("get", "ns", "default")


def _cluster_of(kubectl: Kubectl) -> str:
    name: str = json.loads(kubectl("config", "view", "--minify", "-o", "json").out)["contexts"][0]["context"]["cluster"]
    return name


def test_both_versions_of_a_queue_show_the_same_object(cluster: Kubectl) -> None:
    cluster.apply(cluster_queue("versioned", cohortName="harbour"))
    newer = cluster.json("get", "clusterqueues.v1beta2.kueue.x-k8s.io", "versioned")
    older = cluster.json("get", "clusterqueues.v1beta1.kueue.x-k8s.io", "versioned")
    assert (newer["spec"]["cohortName"], older["spec"]["cohort"]) == ("harbour", "harbour")
    assert newer["metadata"]["resourceVersion"] == older["metadata"]["resourceVersion"]
    assert (newer["apiVersion"], older["apiVersion"]) == ("kueue.x-k8s.io/v1beta2", "kueue.x-k8s.io/v1beta1")
    cluster("delete", "cq", "versioned")
