"""Does what kustomize does with the folders of deploy/, with only the features that they use. If kubectl is installed,
which contains kustomize, both results must be equal."""

import json
import re
import shutil
import subprocess

import yaml

# The known keys of a kustomization; any other key is an error.
KEYS = {
    "apiVersion",
    "kind",
    "resources",
    "configMapGenerator",
    "patches",
    "namespace",
    "nameSuffix",
    "labels",
    "images",
}
APART = "affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution"
# Where labels with includeSelectors go, besides the metadata, by kind; `*` is each element of a list.
SELECTORS = {
    "StatefulSet": (
        "spec/selector/matchLabels",
        "spec/template/metadata/labels",
        f"spec/template/spec/{APART}/*/labelSelector/matchLabels",
        "spec/volumeClaimTemplates/*/metadata/labels",
    ),
    "PodDisruptionBudget": ("spec/selector/matchLabels",),
}


def render(folder):
    """Returns the resources by kind and name, by kubectl if installed, and the files that are not used."""
    folder = folder.resolve()
    read = set()
    documents = _by_name(_rendered(folder, read))
    unread = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and path not in read}
    of_kubectl = _of_kubectl(folder)
    if of_kubectl is None:
        return documents, unread
    same = _without_hashes(of_kubectl)
    if same != documents:
        differ = {kind for kind in {*same, *documents} if same.get(kind) != documents.get(kind)}
        raise SystemExit(f"{folder.name}: kubectl makes another {sorted(differ)} than tests/ship/kustomize.py")
    return of_kubectl, unread


def _by_name(documents):
    found = {}
    for document in documents:
        named = found.setdefault(document["kind"], {})
        name = document["metadata"]["name"]
        if name in named:
            raise SystemExit(f"there are two {document['kind']} {name}")
        named[name] = document
    return found


# --- By kubectl


def _of_kubectl(folder):
    """None = kubectl is missing, or its kustomize is older than 5."""
    if shutil.which("kubectl") is None:
        return None
    version = subprocess.run(["kubectl", "version", "--client"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"Kustomize Version: v(\d+)", version)
    if found is None or int(found[1]) < 5:
        return None
    made = subprocess.run(["kubectl", "kustomize", str(folder)], capture_output=True, text=True, check=False)
    if made.returncode != 0 or made.stderr:
        raise SystemExit(f"kubectl kustomize {folder}: {made.stderr}")
    return _by_name(yaml.safe_load_all(made.stdout))


def _without_hashes(documents):
    """Removes the hashes from the names of ConfigMaps, also where the names are used."""
    text = json.dumps(documents)
    for name in documents.get("ConfigMap", {}):
        text = text.replace(name, re.sub(r"-[a-z0-9]{10}$", "", name))
    return json.loads(text)


# --- By this file


def _rendered(folder, read):
    def text_of(name):
        read.add(folder / name)
        return (folder / name).read_text()

    asked = yaml.safe_load(text_of("kustomization.yaml"))
    if not set(asked) <= KEYS:
        raise SystemExit(f"{folder}: {sorted(set(asked) - KEYS)} is not known here")
    documents = []
    for name in asked["resources"]:
        if (folder / name).is_dir():
            documents += _rendered((folder / name).resolve(), read)
        else:
            documents += yaml.safe_load_all(text_of(name))
    for generator in asked.get("configMapGenerator", []):
        _generate(documents, generator, {name: text_of(name) for name in generator["files"]})
    for patch in asked.get("patches", []):
        operations = yaml.safe_load(patch["patch"] if "patch" in patch else text_of(patch["path"]))
        documents = _patched(documents, patch["target"], operations)
    for document in documents:
        _transform(document, asked)
    return documents


def _generate(documents, generator, data):
    if generator.get("behavior") != "replace":
        documents.append(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": generator["name"]}, "data": data}
        )
        return
    _by_name(documents)["ConfigMap"][generator["name"]]["data"] = data


def _patched(documents, target, operations):
    def is_meant(document):
        return re.fullmatch(target["kind"], document["kind"]) and re.fullmatch(
            target.get("name", ".*"), document["metadata"]["name"]
        )

    meant = [document for document in documents if is_meant(document)]
    if not meant:
        raise SystemExit(f"a patch has no target: {target}")
    if isinstance(operations, dict):
        assert operations["$patch"] == "delete", operations
        return [document for document in documents if document not in meant]
    for document in meant:
        for operation in operations:
            _patch(document, operation)
    return documents


def _patch(document, operation):
    """Applies a JSON patch; only additions and replacements are known."""
    *way, last = operation["path"].strip("/").split("/")
    parent = document
    for step in way:
        parent = parent[int(step)] if isinstance(parent, list) else parent[step]
    if isinstance(parent, list):
        assert (operation["op"], last) == ("add", "-"), operation
        parent.append(operation["value"])
        return
    if (last in parent) != (operation["op"] == "replace"):
        raise SystemExit(f"{operation['op']} {operation['path']}: fits no longer")
    parent[last] = operation["value"]


def _transform(document, asked):
    metadata = document["metadata"]
    if "namespace" in asked and document["kind"] != "Namespace":
        metadata["namespace"] = asked["namespace"]
    metadata["name"] += asked.get("nameSuffix", "")
    for labels in asked.get("labels", []):
        metadata.setdefault("labels", {}).update(labels["pairs"])
        if labels["includeSelectors"]:
            for path in SELECTORS[document["kind"]]:
                _label(document, path.split("/"), labels["pairs"])
    if document["kind"] == "StatefulSet":
        for container in document["spec"]["template"]["spec"]["containers"]:
            for image in asked.get("images", []):
                if container["image"] == image["name"]:
                    container["image"] = f"{image['newName']}:{image['newTag']}"


def _label(value, way, pairs):
    step, *rest = way
    if step == "*":
        for each in value:
            _label(each, rest, pairs)
    elif not rest:
        value.setdefault(step, {}).update(pairs)
    elif step in value:
        _label(value[step], rest, pairs)
