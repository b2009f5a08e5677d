"""Checks that the files in deploy/ fit together, which no schema says.

usage: manifests.py compose
       manifests.py kubernetes DIRECTORY   also writes NAME.yaml for each folder: the result of kustomize
       manifests.py servers DIRECTORY      writes NAME.yaml and NAME.env for each StatefulSet: configuration and
                                           variables of its first server
"""

import pathlib
import re
import sys

import kustomize
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
    """Replaces variables like Compose does when only the required variables are set."""
    text = re.sub(r"\$\{[A-Z_]+:\?[^}]*\}", "set", text)
    return re.sub(r"\$\{[A-Z_]+:-([^}]*)\}", r"\1", text)


def check_compose():
    from compose_spec import PyCompose

    written = (DEPLOY / "compose.yml").read_text()
    expect(not re.search(r"_PASSWORD:-", written), "deploy/compose.yml: a password has a default")
    text = interpolated(written)
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


# --- Servers on Kubernetes


class Servers:
    """The servers of one StatefulSet."""

    def __init__(self, stateful, documents):
        self.name = stateful["metadata"]["name"]
        self.namespace = stateful["metadata"]["namespace"]
        self.spec = stateful["spec"]
        self.template = self.spec["template"]
        self.labels = self.template["metadata"]["labels"]
        self.pod = self.template["spec"]
        self.container = self.pod["containers"][0]
        self.mounts = {mount["name"]: mount["mountPath"] for mount in self.container["volumeMounts"]}
        volume = next(volume for volume in self.pod["volumes"] if "configMap" in volume)
        self.config_map = volume["configMap"]["name"]
        self.config_text = documents["ConfigMap"][self.config_map]["data"]["freshet.yaml"]
        self.config = yaml.safe_load(self.config_text)
        affinity = self.pod.get("affinity", {"podAntiAffinity": {}})["podAntiAffinity"]
        self.apart = affinity.get("requiredDuringSchedulingIgnoredDuringExecution", [])

    def pods(self):
        return [f"{self.name}-{number}" for number in range(self.spec["replicas"])]

    def environment(self, pod):
        """The pod's variables like Kubernetes makes them: values, earlier variables in them, and fields."""
        fields = {"metadata.name": pod, "metadata.namespace": self.namespace}
        fields |= {f"metadata.labels['{label}']": value for label, value in self.labels.items()}
        made = {}
        for variable in self.container.get("env", []):
            # A missing label has an empty value.
            value = variable.get("value") or fields.get(variable["valueFrom"]["fieldRef"]["fieldPath"], "")
            made[variable["name"]] = re.sub(r"\$\((\w+)\)", lambda named: made.get(named[1], named[0]), value)
        return made


def servers_of(documents):
    return [Servers(stateful, documents) for stateful in documents["StatefulSet"].values()]


def check_servers(servers, documents):
    """Compares the pods of a StatefulSet with their configuration and the other resources."""
    config, container, mounts = servers.config, servers.container, servers.mounts
    expect(is_exact(servers.labels, servers.spec["selector"]["matchLabels"]), "the set selects no pod")
    claims = [claim["metadata"]["name"] for claim in servers.spec["volumeClaimTemplates"]]
    expect(claims == ["data"], "the volume of the store is not claimed")
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    expect(config["listen"] == f"0.0.0.0:{ports['grpc']}", "port grpc is not where freshetd listens")
    expect(config["http_listen"] == f"0.0.0.0:{ports['https']}", "port https is not where freshetd listens")
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        get = container[probe]["httpGet"]
        expect(get["port"] in ports and get["scheme"] == "HTTPS", f"{probe}: asks at no port of the pod, or not by TLS")
    grace = servers.pod["terminationGracePeriodSeconds"]
    handover = seconds(config["cluster"].get("handover", "20s")) if "cluster" in config else 0
    expect(grace >= seconds(config["shutdown"]["grace"]) + handover + 30, "the pod is killed before it has stopped")
    given = {volume["name"] for volume in servers.pod["volumes"]} | {"data"}
    expect(set(mounts) == given, f"mounted {sorted(mounts)}, there are {sorted(given)}")
    expect(config["tls"]["certificate"] == mounts["tls"] + "/tls.crt", "the certificate is not where it is mounted")
    expect(config["tls"]["key"] == mounts["tls"] + "/tls.key", "the key is not where it is mounted")
    expect(config["auth"]["file"].startswith(mounts["auth"] + "/"), "the auth file is not where it is mounted")
    expect(mounts["config"] in container["args"], "freshetd is given another configuration")
    expect(servers.pod["serviceAccountName"] in documents["ServiceAccount"], "the service account is not there")
    image = container["image"]
    expect(":" in image and not image.endswith(":latest"), f"image {image} has no version")
    for service in documents["Service"].values():
        expect(is_exact(servers.labels, service["spec"]["selector"]), "a service does not select all pods")
        for port in service["spec"]["ports"]:
            expect(ports.get(port["targetPort"]) == port["port"], f"a service leads to port {port}")
    # A pod with two budgets can never be evicted.
    for kind, key in (("NetworkPolicy", "podSelector"), ("PodDisruptionBudget", "selector")):
        selected = [
            one for one in documents[kind].values() if is_exact(servers.labels, one["spec"][key]["matchLabels"])
        ]
        expect(len(selected) == 1, f"{servers.name}: its pods are of {len(selected)} {kind}")
    for kind, named in documents.items():
        for document in named.values():
            where = document["metadata"].get("namespace", document["metadata"]["name"])
            expect(kind == "Namespace" or where == servers.namespace, f"{kind}: is in another namespace")
    expect(servers.namespace in documents["Namespace"], "the namespace is not there")


def check_restricted(servers):
    """Checks the rules that the namespace enforces, and a read-only root file system."""
    context = servers.pod["securityContext"]
    expect(context["runAsNonRoot"] and context["runAsUser"] != 0, "the pod may run as root")
    expect(context["seccompProfile"]["type"] == "RuntimeDefault", "the pod has no seccomp profile")
    for container in servers.pod["containers"]:
        own = container["securityContext"]
        expect(own["allowPrivilegeEscalation"] is False, "the container may gain privileges")
        expect(own["readOnlyRootFilesystem"] is True, "the container may write its root file system")
        expect(own["capabilities"] == {"drop": ["ALL"]}, "the container has capabilities")


def check_address(servers, pod, documents):
    """Checks the pod's address: a name by the headless service, also while it is not ready, and its port."""
    host, _, port = servers.environment(pod)["FRESHET_CLUSTER_ADDRESS"].rpartition(":")
    service = servers.spec["serviceName"]
    expect(host == f"{pod}.{service}.{servers.namespace}.svc", f"{pod} has another name than {host}")
    expect(port == servers.config["listen"].rpartition(":")[2], f"{pod} does not listen on {port}")
    headless = documents["Service"].get(service, {"spec": {}})["spec"]
    expect(headless.get("clusterIP") == "None", f"{service} gives no names to pods")
    expect(headless.get("publishNotReadyAddresses") is True, f"{service} has no names of pods that are not ready")


def leads(way, key, labels):
    """Whether a rule of the network policy is about pods of the same namespace with these labels."""
    return any(
        "namespaceSelector" not in peer and is_exact(labels, peer["podSelector"]["matchLabels"])
        for peer in way.get(key, [])
    )


def check_cluster(servers, documents):
    """Checks the servers of one cluster; one serves, the others stand by."""
    config, mounts = servers.config, servers.mounts
    check_servers(servers, documents)
    check_restricted(servers)
    expect(servers.spec["replicas"] >= 2, f"{servers.name}: nobody stands by")
    expect(servers.spec["podManagementPolicy"] == "Parallel", "the next pod waits for one that waits for it")
    for probe in ("startupProbe", "readinessProbe"):
        path = servers.container[probe]["httpGet"]["path"]
        expect(path == "/readyz?standby=true", f"{probe}: standbys are never ready")
    for name, value in config["cluster"]["properties"].items():
        if name.endswith(".location"):
            expect(value.startswith(mounts["kafka"] + "/"), f"{name}: {value} is not mounted")
    expect(config["cluster"]["tls_ca"].startswith(mounts["tls"] + "/"), "the authority of the servers is not mounted")
    policy = documents["NetworkPolicy"]["freshet"]["spec"]
    port = int(config["cluster"]["brokers"].rsplit(":", 1)[1])
    egress = [rule["port"] for way in policy["egress"] for rule in way["ports"]]
    expect(port in egress and 53 in egress, "the servers do not get to Kafka")
    # Pods forward calls to each other.
    own = int(config["listen"].rsplit(":", 1)[1])
    for key, ways, wanted in (("to", policy["egress"], own), ("from", policy["ingress"], "grpc")):
        ports = [rule["port"] for way in ways if leads(way, key, servers.labels) for rule in way["ports"]]
        expect(ports == [wanted], f"pods do not get {key} each other: {ports}")
    for pod in servers.pods():
        check_address(servers, pod, documents)
    ports = [port["name"] for port in documents["Service"]["freshet"]["spec"]["ports"]]
    expect(ports == ["grpc"], "the HTTP port of whichever pod is behind one name")
    apart = [term for term in servers.apart if is_exact(servers.labels, term["labelSelector"]["matchLabels"])]
    keys = [term["topologyKey"] for term in apart]
    expect(keys == ["kubernetes.io/hostname"], f"{servers.name}: two pods may be on one machine")


def check_single(documents):
    """Checks the pod of deploy/k8s."""
    (servers,) = servers_of(documents)
    check_servers(servers, documents)
    check_restricted(servers)
    expect(servers.spec["replicas"] == 1, "a store has one owner")
    expect(servers.spec["serviceName"] in documents["Service"], "the headless service is not there")


def check_fleet(documents):
    """Checks the pods of deploy/k8s-fleet."""
    (servers,) = servers_of(documents)
    check_cluster(servers, documents)
    expect("FRESHET_CLUSTER_DIVISIONS" not in servers.environment(servers.pods()[0]), "the cluster is a division")


def check_divisions(documents):
    """Checks the pods of deploy/k8s-divisions, with a StatefulSet for each division."""
    fleet = servers_of(documents)
    for servers in fleet:
        check_cluster(servers, documents)
        check_apart(servers, [other for other in fleet if other is not servers], documents)
    environments = [servers.environment(pod) for servers in fleet for pod in servers.pods()]
    divisions = {environment.get("FRESHET_CLUSTER_DIVISIONS") for environment in environments}
    expect(
        divisions == {str(len(fleet))}, f"there are {len(fleet)} divisions, and by what servers are told {divisions}"
    )
    numbers = [servers.environment(servers.pods()[0]).get("FRESHET_CLUSTER_DIVISION") for servers in fleet]
    wanted = [str(number) for number in range(len(fleet))]
    expect(sorted(map(str, numbers)) == sorted(wanted), f"the divisions are {numbers}")
    addresses = {environment["FRESHET_CLUSTER_ADDRESS"] for environment in environments}
    expect(len(addresses) == len(environments), "two pods have one address")
    # Everything else is equal in all divisions.
    expect(len({servers.config_map for servers in fleet}) == 1, "divisions have configurations of their own")
    own = ("POD_NAME", "FRESHET_CLUSTER_ADDRESS", "FRESHET_CLUSTER_DIVISION")
    shared = {tuple((name, value) for name, value in one.items() if name not in own) for one in environments}
    expect(len(shared) == 1, f"divisions differ in more than their number: {shared}")


def check_apart(servers, others, documents):
    """Checks that the selectors of one division select no pod of another."""
    budgets = [one["spec"]["selector"]["matchLabels"] for one in documents["PodDisruptionBudget"].values()]
    selectors = [budget for budget in budgets if is_exact(servers.labels, budget)]
    selectors.append(servers.spec["selector"]["matchLabels"])
    selectors += [term["labelSelector"]["matchLabels"] for term in servers.apart]
    for other in others:
        too = [selector for selector in selectors if is_exact(other.labels, selector)]
        expect(not too, f"what is for {servers.name} is for {other.name} too: {too}")


FOLDERS = {"k8s": check_single, "k8s-fleet": check_fleet, "k8s-divisions": check_divisions}


def check_kubernetes(directory):
    for name, check in FOLDERS.items():
        documents, unread = kustomize.render(DEPLOY / name)
        expect(not unread, f"{name}: its kustomization names no {sorted(unread)}")
        check(documents)
        everything = [document for named in documents.values() for document in named.values()]
        (pathlib.Path(directory) / f"{name}.yaml").write_text(yaml.safe_dump_all(everything))


def write_servers(directory):
    for name in FOLDERS:
        documents, _ = kustomize.render(DEPLOY / name)
        for servers in servers_of(documents):
            file = pathlib.Path(directory) / f"{name}-{servers.name}"
            file.with_suffix(".yaml").write_text(servers.config_text)
            environment = servers.environment(servers.pods()[0])
            file.with_suffix(".env").write_text("".join(f"{key}={value}\n" for key, value in environment.items()))


{"compose": check_compose, "kubernetes": check_kubernetes, "servers": write_servers}[sys.argv[1]](*sys.argv[2:])
for problem in problems:
    print(problem, file=sys.stderr)
sys.exit(1 if problems else 0)
