"""The commands of `kubectl create` and `kubectl run`: their bodies are protobuf from kubectl 1.32 on."""

from __future__ import annotations

import base64

from tests.acceptance.support import Kubectl


def test_configuration_is_created_as_typed(kubectl: Kubectl) -> None:
    assert kubectl("create", "cm", "c", "--from-literal=a=b", "--from-literal=n=1").out == "configmap/c created\n"
    assert kubectl.json("get", "cm", "c")["data"] == {"a": "b", "n": "1"}
    kubectl("create", "secret", "generic", "s", "--from-literal=p=qü")
    secret = kubectl.json("get", "secret", "s")
    assert base64.b64decode(secret["data"]["p"]).decode() == "qü"
    assert secret["type"] == "Opaque"
    assert kubectl("get", "secret", "s").rows[0][:3] == ["s", "Opaque", "1"]
    kubectl("create", "serviceaccount", "robot")
    token = kubectl("create", "token", "robot", "--duration=1h").out.strip()
    who = kubectl.with_("--token", token)("auth", "whoami").out
    assert ":robot" in who
    assert "system:serviceaccounts" in who
    assert "already exists" in kubectl.fails("create", "cm", "c")


def test_jobs_and_pods_are_created_as_typed(kubectl: Kubectl) -> None:
    kubectl("create", "job", "hello", "--image=busybox", "--", "echo", "hi there")
    job = kubectl.json("get", "job", "hello")
    container = job["spec"]["template"]["spec"]["containers"][0]
    assert (container["image"], container["command"]) == ("busybox", ["echo", "hi there"])
    assert job["spec"]["completions"] == 1
    kubectl("create", "cronjob", "nightly", "--image=busybox", "--schedule=0 3 * * *")
    assert kubectl("get", "cj", "nightly").rows[0][1] == "0 3 * * *"
    kubectl("create", "job", "now", "--from=cronjob/nightly")
    assert kubectl.json("get", "job", "now")["metadata"]["ownerReferences"][0]["kind"] == "CronJob"
    kubectl("run", "p", "--image=nginx", "--labels=a=b", "--env=X=1", "--restart=Never", "--", "true")
    pod = kubectl.json("get", "pod", "p")
    assert pod["status"]["qosClass"] == "BestEffort"
    assert pod["spec"]["restartPolicy"] == "Never"
    assert pod["spec"]["containers"][0]["env"] == [{"name": "X", "value": "1"}]
    assert kubectl("get", "pod", "p").headings == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert kubectl("get", "pod", "p").rows[0][0] == "p"
    assert "Status:" in kubectl("describe", "pod", "p").out
    dry = kubectl.json("run", "q", "--image=nginx", "--dry-run=server")
    assert dry["spec"]["dnsPolicy"] == "ClusterFirst"
    assert "NotFound" in kubectl.fails("get", "pod", "q")


def test_inert_kinds_are_accepted_and_shown(kubectl: Kubectl) -> None:
    kubectl("create", "deployment", "web", "--image=nginx", "--replicas=2")
    assert kubectl("get", "deploy", "web").headings == ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"]
    assert kubectl("get", "deploy", "web").rows[0][:2] == ["web", "0/2"]
    kubectl("create", "quota", "q", "--hard=cpu=1,pods=2")
    assert kubectl.json("get", "quota", "q")["spec"]["hard"] == {"cpu": "1", "pods": "2"}
    kubectl("create", "service", "clusterip", "s", "--tcp=80:8080")
    kubectl("create", "ingress", "i", "--rule=a.example/x=s:80")
    kubectl("create", "poddisruptionbudget", "b", "--selector=a=b", "--min-available=1")
    assert set(kubectl("get", "deploy,quota,svc,ing,pdb", "-o", "name").lines) == {
        "deployment.apps/web",
        "resourcequota/q",
        "service/s",
        "ingress.networking.k8s.io/i",
        "poddisruptionbudget.policy/b",
    }
    described = kubectl("describe", "deploy,quota,svc,ing,pdb").out
    assert "RollingUpdateStrategy:" in described


def test_roles_and_priorities_are_created_as_typed(kubectl: Kubectl, namespace: str) -> None:
    kubectl("create", "role", "reader", "--verb=get,list", "--resource=pods,jobs.batch")
    rules = kubectl.json("get", "role", "reader")["rules"]
    assert sorted((rule["apiGroups"], rule["resources"]) for rule in rules) == [([""], ["pods"]), (["batch"], ["jobs"])]
    kubectl("create", "rolebinding", "readers", "--role=reader", "--user=bob", f"--serviceaccount={namespace}:robot")
    assert kubectl("get", "rolebinding", "readers").rows[0][1] == "Role/reader"
    kubectl("create", "clusterrole", f"cr-{namespace}", "--verb=get", "--resource=nodes")
    kubectl("create", "clusterrolebinding", f"crb-{namespace}", f"--clusterrole=cr-{namespace}", "--group=ops")
    kubectl("create", "priorityclass", f"high-{namespace}", "--value=1000", "--description=first")
    assert kubectl("get", "priorityclass", f"high-{namespace}").rows[0][1:3] == ["1000", "false"]
    assert kubectl("auth", "can-i", "list", "jobs", "--as=bob").out == "yes\n"
    assert kubectl.run("auth", "can-i", "delete", "jobs", "--as=bob").out == "no\n"
    kubectl("delete", "clusterrole,clusterrolebinding,priorityclass", "--field-selector=metadata.name=none")
    kubectl("delete", "clusterrolebinding", f"crb-{namespace}")
    kubectl("delete", "clusterrole", f"cr-{namespace}")
    kubectl("delete", "priorityclass", f"high-{namespace}")


def test_names_are_generated(kubectl: Kubectl) -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: run-}\n"
    names = {kubectl("create", "-f", "-", "-o", "name", stdin=text).out for _ in range(3)}
    assert len(names) == 3
    assert all(name.startswith("configmap/run-") for name in names)
