"""Parts of the checks of packages: commands that have to succeed, files of a release, and a session with a server."""

import json
import os
import pathlib
import subprocess
import venv
import zipfile

from product import PLATFORMS


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


def the(files: list[pathlib.Path], what: str, suffix: str, part: str = "") -> pathlib.Path:
    """The one file of a release with a suffix."""
    found = [file for file in files if file.name.endswith(suffix) and part in file.name]
    if len(found) != 1:
        raise CheckError(f"{what}: {len(found)} files with {part}…{suffix} instead of one")
    return found[0]


def platform_of(archive: pathlib.Path):
    """The platform that an archive is for, which is part of its name."""
    found = [platform for target, platform in PLATFORMS.items() if target in archive.name]
    if len(found) != 1:
        raise CheckError(f"the archive: its name {archive.name} names no target")
    return found[0]


def unzip(file: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """Unpacks a zip archive. Returns the folder."""
    with zipfile.ZipFile(file) as archive:
        archive.extractall(folder)
    return folder


def install_wheel(wheel: pathlib.Path, folder: pathlib.Path, is_foreign: bool) -> pathlib.Path:
    """Installs the wheel with pip. Returns the folder of its scripts. `is_foreign`: the wheel is for another platform than this
    machine's, so pip is told the platform, which it compares with the wheel's tags."""
    pip = pip_of(folder)
    if not is_foreign:
        run("the wheel", *pip, "--no-index", wheel)
        return folder / "python/bin"
    tag = wheel.stem.rsplit("-", 1)[1].split(".")[0]
    scripts = folder / "scripts"
    run("the wheel", *pip, "--no-index", "--only-binary=:all:", "--platform", tag, "--target", scripts, wheel)
    return scripts / "bin"


def pip_of(folder: pathlib.Path) -> list:
    """The command that installs packages in an environment of this check."""
    python = folder / "python"
    if not python.exists():
        venv.create(python, with_pip=True)
    return [python / "bin/pip", "install", "--quiet", "--disable-pip-version-check"]


def install_npm(files: list[pathlib.Path], folder: pathlib.Path, platform, is_foreign: bool) -> pathlib.Path:
    """Installs the npm packages of a platform, as on that platform. `is_foreign`: it is not that of this machine. Returns
    the folder in which they are."""
    node = folder / "node"
    node.mkdir()
    (node / "package.json").write_text('{"private": true}')
    packages = [file for file in files if file.suffix == ".tgz"]
    system, processor = platform.npm
    # Offline, since the packages of other platforms are optional and not available.
    options = ["--offline", "--no-audit", "--no-fund", f"--os={system}", f"--cpu={processor}"]
    if is_foreign:
        # npm compares packages that are named with this machine, whatever the options say.
        options.append("--force")
    run("the npm packages", "npm", "install", *options, *packages, cwd=node)
    return node


def use_server(what: str, command: list, folder: pathlib.Path, seen: pathlib.PurePath | None = None, **variables) -> None:
    """Starts the server with a home folder of its own, lists its tools, and calls one. `seen`: the folder as the server sees
    it. `variables`: further environment variables."""
    seen = seen or folder
    home = folder / "home"
    root = folder / "root"
    home.mkdir(exist_ok=True)
    root.mkdir(exist_ok=True)
    environment = {"PATH": os.environ["PATH"], "HOME": str(seen / "home"), **variables}
    session(what, [*command, "serve", "--root", seen / "root"], environment)


def session(what: str, command: list, environment: dict[str, str]) -> None:
    """A session with a server: initialises it, lists its tools, and calls a tool that needs neither files nor network."""
    client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "check", "version": "1"}}
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "get_guidelines", "arguments": {}}},
    ]
    pipe = subprocess.PIPE
    server = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment, encoding="utf-8")
    try:
        for message in messages:
            server.stdin.write(json.dumps(message) + "\n")
        server.stdin.flush()
        answers = {}
        while not {2, 3} <= answers.keys():
            line = server.stdout.readline()
            if not line:
                raise CheckError(f"{what}: the server ended without an answer: {server.stderr.read().strip()}")
            answer = json.loads(line)
            answers[answer.get("id")] = answer
        names = [tool["name"] for tool in answers[2]["result"]["tools"]]
        called = answers[3].get("result") or {}
    except OSError as error:
        raise CheckError(f"{what}: the server does not read: {error}") from error
    finally:
        try:
            server.stdin.close()
            server.wait(timeout=30)
        except (OSError, subprocess.TimeoutExpired):
            server.kill()
    if "create_ui5_app" not in names or server.returncode != 0:
        raise CheckError(f"{what}: exit code {server.returncode}, tools {names}")
    if called.get("isError") or not called.get("content"):
        raise CheckError(f"{what}: the tool get_guidelines answers {answers[3]}")
    print(f"{what}: {len(names)} tools, one called", flush=True)
