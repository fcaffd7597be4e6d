"""Manifests that name the release's files by address and digest: the MCP registry, Homebrew, Scoop and winget.

They are made only if the address is known (`--download-base`).
"""

import hashlib
import json

SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"


def make(product, made):
    """The manifests for the files of this platform."""
    if product.download_base is None:
        return {}
    base = product.download_base.rstrip("/")
    files = {name: (f"{base}/{name}", hashlib.sha256(contents).hexdigest()) for name, contents in made.items()}
    folder = product.unpacked_name()
    out = {}
    if product.registry_name and f"{folder}.mcpb" in files:
        out["server.json"] = text(server(product, *files[f"{folder}.mcpb"]))
    if product.platform.suffix:
        address, digest = files[f"{folder}.zip"]
        out["portcullis.scoop.json"] = text(scoop(product, address, digest))
        out["portcullis.winget.yaml"] = winget(product, address, digest).encode()
    elif f"{folder}.tar.gz" in files and product.platform.npm:
        out[f"portcullis.{'-'.join(product.platform.npm)}.rb"] = homebrew(product, *files[f"{folder}.tar.gz"]).encode()
    return out


def text(value: dict) -> bytes:
    """A JSON file."""
    return json.dumps(value, indent=2).encode() + b"\n"


def server(product, address: str, digest: str) -> dict:
    """`server.json` of the MCP registry. A description there has at most 100 characters."""
    stdio = {"type": "stdio"}
    return {
        "$schema": SCHEMA,
        "name": product.registry_name,
        "title": "Portcullis",
        "description": product.description[:100],
        "version": product.version,
        "packages": [
            {
                "registryType": "mcpb",
                "identifier": address,
                "version": product.version,
                "fileSha256": digest,
                "transport": stdio,
            },
            {
                "registryType": "npm",
                "identifier": product.name,
                "version": product.version,
                "transport": stdio,
                "packageArguments": [
                    {"type": "positional", "value": "serve"},
                    {
                        "type": "named",
                        "name": "--root",
                        "description": "The folder that the tools may access",
                        "format": "filepath",
                        "isRequired": True,
                    },
                ],
            },
        ],
    }


def homebrew(product, address: str, digest: str) -> str:
    """A formula that installs the archive of this platform."""
    return f'''\
class Portcullis < Formula
  desc "MCP server with sandboxed tools"
  version "{product.version}"
  license "{product.license}"
  url "{address}"
  sha256 "{digest}"

  def install
    bin.install "portcullis"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/portcullis.bash" => "portcullis"
    zsh_completion.install "completions/_portcullis"
    fish_completion.install "completions/portcullis.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{{bin}}/portcullis --version")
  end
end
'''


def scoop(product, address: str, digest: str) -> dict:
    """A manifest for Scoop."""
    folder = product.unpacked_name()
    return {
        "version": product.version,
        "description": product.description,
        "license": product.license,
        "architecture": {"64bit": {"url": address, "hash": digest, "extract_dir": folder}},
        "bin": product.file_name,
    }


def winget(product, address: str, digest: str) -> str:
    """A singleton manifest for winget, version 1.6.0."""
    folder = product.unpacked_name()
    return f"""\
PackageIdentifier: Portcullis.Portcullis
PackageVersion: {product.version}
PackageLocale: en-US
Publisher: Portcullis
PackageName: Portcullis
License: {product.license}
ShortDescription: {product.description}
InstallerType: zip
NestedInstallerType: portable
NestedInstallerFiles:
  - RelativeFilePath: {folder}\\{product.file_name}
    PortableCommandAlias: portcullis
Installers:
  - Architecture: x64
    InstallerUrl: {address}
    InstallerSha256: {digest.upper()}
ManifestType: singleton
ManifestVersion: 1.6.0
"""
