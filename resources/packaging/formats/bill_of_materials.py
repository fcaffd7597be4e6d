"""The software bill of materials, in CycloneDX 1.5: each crate in the binary or in a bundled plugin."""

import hashlib
import json
import pathlib
import subprocess
import time
import tomllib
import uuid

from product import REPOSITORY, PackagingError

WASM = "wasm32-wasip2"


def make(product):
    """One JSON file."""
    crates, needs = {}, {}
    host = resolved(product.platform.target)
    plugins = resolved(WASM)
    root = id_of(host, product.name)
    collect(host, [root], crates, needs)
    collect(plugins, [package["id"] for package in plugins["packages"] if is_plugin(package)], crates, needs)
    lock = tomllib.loads((REPOSITORY / "Cargo.lock").read_text())
    checksums = {(one["name"], one["version"]): one.get("checksum") for one in lock["package"]}
    digest = hashlib.sha256(product.binary).hexdigest()
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, digest)}",
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(product.time)),
            "component": component(crates[root], None)
            | {"type": "application", "hashes": [{"alg": "SHA-256", "content": digest}]},
        },
        "components": [
            component(crate, checksums.get((crate["name"], crate["version"])))
            for key, crate in sorted(crates.items(), key=lambda one: reference(one[1]))
            if key != root
        ],
        "dependencies": [
            {"ref": reference(crates[key]), "dependsOn": sorted(reference(crates[one]) for one in needs[key])}
            for key in sorted(crates, key=lambda one: reference(crates[one]))
        ],
    }
    return {f"{product.unpacked_name()}.cdx.json": json.dumps(document, indent=1).encode() + b"\n"}


def resolved(target: str) -> dict:
    """Cargo's metadata of the workspace, for one target."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", target]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    if done.returncode != 0:
        raise PackagingError(f"the bill of materials: {' '.join(command)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def id_of(metadata: dict, name: str) -> str:
    """The id of a package of the workspace."""
    return next(one["id"] for one in metadata["packages"] if one["name"] == name and one["source"] is None)


def is_plugin(package: dict, repository: pathlib.Path = REPOSITORY) -> bool:
    """Whether a package of the workspace is a bundled plugin: in `plugins/FAMILY/plugins/NAME`."""
    parts = pathlib.Path(package["manifest_path"]).parts[len(repository.parts) :]
    return package["source"] is None and parts[:1] == ("plugins",) and parts[2:3] == ("plugins",)


def collect(metadata: dict, roots: list[str], crates: dict, needs: dict) -> None:
    """Adds the roots and their dependencies. Dependencies of tests and of build scripts are left out."""
    packages = {one["id"]: one for one in metadata["packages"]}
    nodes = {one["id"]: one for one in metadata["resolve"]["nodes"]}
    open_ids = list(roots)
    while open_ids:
        key = open_ids.pop()
        if key in crates:
            continue
        crates[key] = packages[key]
        needs[key] = {
            dependency["pkg"]
            for dependency in nodes[key]["deps"]
            if any(kind["kind"] is None for kind in dependency["dep_kinds"])
        }
        open_ids += needs[key]


def reference(crate: dict) -> str:
    """The package URL of a crate."""
    return f"pkg:cargo/{crate['name']}@{crate['version']}"


def component(crate: dict, checksum: str | None) -> dict:
    """A crate as CycloneDX describes it."""
    url = reference(crate)
    text = {"type": "library", "bom-ref": url, "name": crate["name"], "version": crate["version"], "purl": url}
    if crate.get("license"):
        text["licenses"] = [{"expression": crate["license"].replace("/", " OR ")}]
    if checksum:
        text["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    return text
