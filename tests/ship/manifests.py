"""What no schema says of the files in deploy/: that they fit together.

usage: manifests.py compose|kubernetes, or manifests.py fleet FILE, which gets what deploy/k8s-fleet makes of deploy/k8s
"""

import pathlib
import re
import sys

import yaml

DEPLOY = pathlib.Path(__file__).resolve().parents[2] / "deploy"
SUFFIXES = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}
problems = []


def expect(holds, problem):
    if not holds:
        problems.append(problem)


def seconds(duration):
    number, unit = re.fullmatch(r"([0-9.]+)(ms|s|m|h)", duration).groups()
    return float(number) * SUFFIXES[unit]


def interpolated(text):
    """As Compose does it where nothing is set in the environment."""
    return re.sub(r"\$\{[A-Z_]+:-([^}]*)\}", r"\1", text)


def check_compose():
    from compose_spec import PyCompose

    text = interpolated((DEPLOY / "compose.yml").read_text())
    try:
        PyCompose.from_yaml(text)
    except ValueError as error:
        expect(False, f"deploy/compose.yml: {error}")
        return
    compose = yaml.safe_load(text)
    for name, service in compose["services"].items():
        image = service["image"]
        expect(":" in image and not image.endswith(":latest"), f"{name}: image {image} has no version")
        for port in service.get("ports", []):
            expect(port.startswith("127.0.0.1:"), f"{name}: port {port} is open to other machines")
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            if source.startswith("."):
                expect((DEPLOY / source).is_dir(), f"{name}: deploy/{source} is not there")
            else:
                expect(source in compose["volumes"], f"{name}: volume {source} is not declared")


def is_exact(labels, wanted):
    return all(labels.get(key) == value for key, value in wanted.items())


def check_pod(pod, documents, config):
    """The pod of the StatefulSet against the configuration that it mounts and what else there is."""
    container = pod["spec"]["containers"][0]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    expect(config["listen"] == f"0.0.0.0:{ports['grpc']}", "port grpc is not where freshetd listens")
    expect(config["http_listen"] == f"0.0.0.0:{ports['https']}", "port https is not where freshetd listens")
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        get = container[probe]["httpGet"]
        expect(get["port"] in ports and get["scheme"] == "HTTPS", f"{probe}: asks at no port of the pod, or not by TLS")
    grace = pod["spec"]["terminationGracePeriodSeconds"]
    handover = seconds(config["cluster"].get("handover", "20s")) if "cluster" in config else 0
    expect(grace >= seconds(config["shutdown"]["grace"]) + handover + 30, "the pod is killed before it has stopped")
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    given = {volume["name"] for volume in pod["spec"]["volumes"]} | {"data"}
    expect(set(mounts) == given, f"mounted {sorted(mounts)}, there are {sorted(given)}")
    expect(config["tls"]["certificate"] == mounts["tls"] + "/tls.crt", "the certificate is not where it is mounted")
    expect(config["tls"]["key"] == mounts["tls"] + "/tls.key", "the key is not where it is mounted")
    expect(config["auth"]["file"].startswith(mounts["auth"] + "/"), "the auth file is not where it is mounted")
    expect(pod["spec"]["serviceAccountName"] in documents["ServiceAccount"], "the service account is not there")
    for service in documents["Service"].values():
        expect(is_exact(pod["metadata"]["labels"], service["spec"]["selector"]), "a service selects no pod")
        for port in service["spec"]["ports"]:
            expect(ports.get(port["targetPort"]) == port["port"], f"a service leads to port {port}")
    for kind in ("NetworkPolicy", "PodDisruptionBudget"):
        spec = documents[kind]["freshet"]["spec"]
        selector = spec.get("podSelector") or spec["selector"]
        expect(is_exact(pod["metadata"]["labels"], selector["matchLabels"]), f"the {kind} selects no pod")


def check_restricted(pod):
    """What the namespace enforces, and a root file system that cannot be written."""
    context = pod["spec"]["securityContext"]
    expect(context["runAsNonRoot"] and context["runAsUser"] != 0, "the pod may run as root")
    expect(context["seccompProfile"]["type"] == "RuntimeDefault", "the pod has no seccomp profile")
    for container in pod["spec"]["containers"]:
        own = container["securityContext"]
        expect(own["allowPrivilegeEscalation"] is False, "the container may gain privileges")
        expect(own["readOnlyRootFilesystem"] is True, "the container may write its root file system")
        expect(own["capabilities"] == {"drop": ["ALL"]}, "the container has capabilities")


def kustomization_of(folder):
    return yaml.safe_load((folder / "kustomization.yaml").read_text())


def documents_of(folder):
    """The resources that the kustomization names, by kind and name."""
    documents = {}
    for name in kustomization_of(folder)["resources"]:
        for document in yaml.safe_load_all((folder / name).read_text()):
            documents.setdefault(document["kind"], {})[document["metadata"]["name"]] = document
    return documents


def expect_all_named(folder, named):
    there = {path.name for path in folder.iterdir()} - {"kustomization.yaml"}
    expect(there == named, f"{folder.name}/kustomization.yaml names {sorted(named)}, there are {sorted(there)}")


def patch_as_kustomize(document, operations):
    """As kustomize does it with JSON patches, of which there are additions and replacements."""
    for operation in operations:
        *way, last = operation["path"].strip("/").split("/")
        parent = document
        for step in way:
            parent = parent[int(step)] if isinstance(parent, list) else parent[step]
        if isinstance(parent, list):
            assert (operation["op"], last) == ("add", "-"), operation
            parent.append(operation["value"])
        else:
            expect(
                (last in parent) == (operation["op"] == "replace"),
                f"{operation['op']} {operation['path']}: fits no longer",
            )
            parent[last] = operation["value"]


def check_fleet(rendered):
    """Three pods of deploy/k8s-fleet, on the manifests of deploy/k8s."""
    folder = DEPLOY / "k8s-fleet"
    kustomization = kustomization_of(folder)
    documents = documents_of(DEPLOY / "k8s")
    named = set(kustomization["configMapGenerator"][0]["files"])
    for patch in kustomization["patches"]:
        named.add(patch["path"])
        target = documents[patch["target"]["kind"]][patch["target"]["name"]]
        patch_as_kustomize(target, yaml.safe_load((folder / patch["path"]).read_text()))
    expect_all_named(folder, named)
    config = yaml.safe_load((folder / "freshet.yaml").read_text())
    stateful = documents["StatefulSet"]["freshet"]["spec"]
    pod = stateful["template"]
    check_pod(pod, documents, config)
    check_restricted(pod)
    expect(stateful["podManagementPolicy"] == "Parallel", "the next pod waits for one that waits for it")
    container = pod["spec"]["containers"][0]
    for probe in ("startupProbe", "readinessProbe"):
        expect(container[probe]["httpGet"]["path"] == "/readyz?standby=true", f"{probe}: standbys are never ready")
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    for name, value in config["cluster"]["properties"].items():
        if name.endswith(".location"):
            expect(value.startswith(mounts["kafka"] + "/"), f"{name}: {value} is not mounted")
    expect(config["cluster"]["tls_ca"].startswith(mounts["tls"] + "/"), "the authority of the servers is not mounted")
    policy = documents["NetworkPolicy"]["freshet"]["spec"]
    port = int(config["cluster"]["brokers"].rsplit(":", 1)[1])
    egress = [rule["port"] for way in policy["egress"] for rule in way["ports"]]
    expect(port in egress and 53 in egress, "the servers do not get to Kafka")
    # Calls that a pod which stands by forwards.
    own = int(config["listen"].rsplit(":", 1)[1])
    address = {variable["name"]: variable.get("value") for variable in container["env"]}["FRESHET_CLUSTER_ADDRESS"]
    headless = stateful["serviceName"]
    expect(address == f"$(POD_NAME).{headless}.$(POD_NAMESPACE).svc:{own}", f"{address} is no address of a pod")
    selector = {"podSelector": {"matchLabels": stateful["selector"]["matchLabels"]}}
    for key, ways, wanted in (("to", policy["egress"], own), ("from", policy["ingress"], "grpc")):
        ports = [rule["port"] for way in ways if selector in way.get(key, []) for rule in way["ports"]]
        expect(ports == [wanted], f"pods do not get {key} each other: {ports}")
    ports = [port["name"] for port in documents["Service"]["freshet"]["spec"]["ports"]]
    expect(ports == ["grpc"], "the HTTP port of whichever pod is behind one name")
    spread = pod["spec"]["topologySpreadConstraints"][0]["labelSelector"]["matchLabels"]
    expect(is_exact(pod["metadata"]["labels"], spread), "the spread counts no pod")
    pathlib.Path(rendered).write_text(
        yaml.safe_dump_all(document for kind in documents.values() for document in kind.values())
    )


def check_kubernetes():
    folder = DEPLOY / "k8s"
    kustomization = kustomization_of(folder)
    expect_all_named(folder, set(kustomization["resources"] + kustomization["configMapGenerator"][0]["files"]))
    documents = documents_of(folder)
    expect(kustomization["namespace"] in documents["Namespace"], "the namespace is not there")
    stateful = documents["StatefulSet"]["freshet"]["spec"]
    pod = stateful["template"]
    expect(stateful["replicas"] == 1, "a store has one owner")
    expect(stateful["serviceName"] in documents["Service"], "the headless service is not there")
    expect(is_exact(pod["metadata"]["labels"], stateful["selector"]["matchLabels"]), "the set selects no pod")
    claims = [claim["metadata"]["name"] for claim in stateful["volumeClaimTemplates"]]
    expect(claims == ["data"], "the volume of the store is not claimed")
    check_pod(pod, documents, yaml.safe_load((folder / "freshet.yaml").read_text()))
    check_restricted(pod)
    expect(kustomization["images"][0]["name"] == pod["spec"]["containers"][0]["image"], "the image has another name")


{"compose": check_compose, "kubernetes": check_kubernetes, "fleet": check_fleet}[sys.argv[1]](*sys.argv[2:])
for problem in problems:
    print(problem, file=sys.stderr)
sys.exit(1 if problems else 0)
