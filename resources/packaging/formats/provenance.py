"""The provenance: an in-toto statement (version 1) with the SLSA predicate `provenance/v1`. It is not signed."""

import hashlib
import json
import subprocess

from product import REPOSITORY


def make(product, made):
    """One JSON file that names the digest of each other file, the commit and the toolchain."""
    compiler = subprocess.run(["rustc", "--version"], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    statement = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [
            {"name": name, "digest": {"sha256": hashlib.sha256(contents).hexdigest()}}
            for name, contents in sorted(made.items())
        ],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "urn:portcullis:just-release:v1",
                "externalParameters": {"target": product.platform.target, "version": product.version},
                "internalParameters": {"rustc": compiler.stdout.strip(), "sourceDateEpoch": product.time},
                "resolvedDependencies": [{"name": "source", "digest": {"gitCommit": product.commit}}],
            },
            "runDetails": {"builder": {"id": "urn:portcullis:local-build"}},
        },
    }
    return {f"{product.unpacked_name()}.intoto.json": json.dumps(statement, indent=1).encode() + b"\n"}
