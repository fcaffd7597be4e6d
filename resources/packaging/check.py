#!/usr/bin/env python3
"""Installs each package of a release from its file, and lists the tools through it as an MCP client does.

A static binary is also started in a root folder that contains nothing else. Needs Python with venv, npm, `dpkg-deb`, and
`unshare` of util-linux for a static binary. The official tool checks the MCP bundle, and a library of CycloneDX the bill
of materials; both come from their registries.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import venv


class CheckError(Exception):
    """A package does not work. The text says which one, and what happened."""


def run(what: str, *command, **options) -> str:
    """The output of a command that has to succeed within ten minutes."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, **options)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CheckError(f"{what}: {error}") from error
    if done.returncode != 0:
        raise CheckError(f"{what}: {' '.join(map(str, command))}: exit code {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def list_tools(what: str, command: list, folder: pathlib.Path, seen: pathlib.Path | None = None) -> None:
    """Starts the server with a home folder of its own, and asks for its tools. `seen`: the folder as the server sees it."""
    seen = seen or folder
    home = folder / "home"
    root = folder / "root"
    home.mkdir(exist_ok=True)
    root.mkdir(exist_ok=True)
    client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "check", "version": "1"}}
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    ]
    environment = {"PATH": os.environ["PATH"], "HOME": str(seen / "home")}
    server = subprocess.Popen(
        [*command, "serve", "--root", seen / "root"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        text=True,
    )
    try:
        for message in messages:
            server.stdin.write(json.dumps(message) + "\n")
        server.stdin.flush()
        answers = {}
        while 2 not in answers:
            line = server.stdout.readline()
            if not line:
                raise CheckError(f"{what}: the server ended without an answer: {server.stderr.read().strip()}")
            answer = json.loads(line)
            answers[answer.get("id")] = answer
        names = [tool["name"] for tool in answers[2]["result"]["tools"]]
    except OSError as error:
        raise CheckError(f"{what}: the server does not read: {error}") from error
    finally:
        server.stdin.close()
        try:
            server.wait(timeout=30)
        except subprocess.TimeoutExpired:
            server.kill()
    if "create_ui5_app" not in names or server.returncode != 0:
        raise CheckError(f"{what}: exit code {server.returncode}, tools {names}")
    print(f"{what}: {len(names)} tools")


def the(files: list[pathlib.Path], what: str, suffix: str, part: str = "") -> pathlib.Path:
    """The one file of a release with a suffix."""
    found = [file for file in files if file.name.endswith(suffix) and part in file.name]
    if len(found) != 1:
        raise CheckError(f"{what}: {len(found)} files with {part}…{suffix} instead of one")
    return found[0]


def check(out: pathlib.Path, folder: pathlib.Path) -> None:
    """Checks each file of the release."""
    files = sorted(out.iterdir())
    run("the checksums", "sha256sum", "--check", "--quiet", "SHA256SUMS", cwd=out)

    archive = the(files, "the archive", ".tar.gz")
    run("the archive", "tar", "-xzf", archive, "-C", folder)
    program = next(folder.glob("portcullis-*/portcullis"))
    list_tools("the archive", [program], folder)

    if "-linux-musl" in archive.name:
        empty = folder / "empty"
        empty.mkdir()
        shutil.copy(program, empty / "portcullis")
        alone = ["unshare", "--map-root-user", f"--root={empty}", "/portcullis"]
        list_tools("the binary in an empty root folder", alone, empty, pathlib.Path("/"))

    debian = folder / "debian"
    run("the Debian package", "dpkg-deb", "--extract", the(files, "the Debian package", ".deb"), debian)
    list_tools("the Debian package", [debian / "usr/bin/portcullis"], folder)

    node = folder / "node"
    node.mkdir()
    (node / "package.json").write_text('{"private": true}')
    packages = [file for file in files if file.suffix == ".tgz"]
    # Offline, since the packages of other platforms are optional and not available.
    run("the npm packages", "npm", "install", "--offline", "--no-audit", "--no-fund", *packages, cwd=node)
    list_tools("the npm packages", [node / "node_modules/.bin/portcullis"], folder)

    python = folder / "python"
    venv.create(python, with_pip=True)
    pip = [python / "bin/pip", "install", "--quiet", "--disable-pip-version-check"]
    run("the wheel", *pip, "--no-index", the(files, "the wheel", ".whl"))
    list_tools("the wheel", [python / "bin/portcullis"], folder)

    bundle = folder / "bundle"
    run("the MCP bundle", sys.executable, "-m", "zipfile", "-e", the(files, "the MCP bundle", ".mcpb"), bundle)
    mcpb = ["npx", "--yes", "@anthropic-ai/mcpb@2.1.2", "validate", bundle / "manifest.json"]
    print("the MCP bundle:", run("the MCP bundle", *mcpb, cwd=node).strip())
    program = bundle / "server/portcullis"
    program.chmod(0o755)
    list_tools("the MCP bundle", [program], folder)

    run("the bill of materials", *pip, "cyclonedx-python-lib[json-validation]==11.6.0")
    run("the bill of materials", python / "bin/python", "-c", VALIDATE, the(files, "the bill of materials", ".cdx.json"))
    print("the bill of materials: valid")


VALIDATE = """
import pathlib, sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
fault = JsonStrictValidator(SchemaVersion.V1_5).validate_str(pathlib.Path(sys.argv[1]).read_text())
sys.exit(str(fault) if fault else 0)
"""


def main() -> int:
    """The command line. Exit code 1: a package does not work, and the reason is on stderr."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=pathlib.Path, help="the folder with the files of the release")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        try:
            check(arguments.out.resolve(), pathlib.Path(folder))
        except CheckError as error:
            print(f"check.py: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
