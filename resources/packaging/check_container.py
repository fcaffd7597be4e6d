"""Checks the container image: builds it from the archive of a static binary, and starts it without rights and without a file
system that can be written, apart from its own state.

Needs podman. Its variables, such as CONTAINERS_CONF and STORAGE_DRIVER, apply.
"""

import json
import os
import pathlib
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request

from checking import CheckError, run, use_server
from product import REPOSITORY

# The user of the image: see the file `Containerfile`.
USER = "65532"

# No capabilities, no further rights, and nothing to write but the volume of the image: also no `/tmp`.
HARDENED = ("--rm", "--read-only", "--read-only-tmpfs=false", "--cap-drop=all", "--security-opt=no-new-privileges")


def check(context: pathlib.Path, folder: pathlib.Path) -> None:
    """Builds the image in the folder of an unpacked archive, and uses it over stdio and over HTTP."""
    if shutil.which("podman") is None:
        print("the container: not checked, since podman is missing")
        return
    file = REPOSITORY / "resources/deploy/Containerfile"
    image = run("the container", "podman", "build", "--quiet", "--file", file, context).strip()
    try:
        root = folder / "root"
        root.mkdir(exist_ok=True)
        program = ["podman", "run", "-i", *HARDENED, "--network=none", f"--volume={root}:/data/root:ro", image]
        # Podman itself needs its own home folder and variables.
        use_server("the container", program, folder, pathlib.PurePosixPath("/data"), **os.environ)
        over_http(image, folder)
    finally:
        run("the container", "podman", "rmi", "--force", image)


def over_http(image: str, folder: pathlib.Path) -> None:
    """Starts the image as a service, looks at its process, calls a tool, and stops it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = "127.0.0.1:{}".format(free.getsockname()[1])
    settings = folder / "settings"
    settings.mkdir()
    token = "a-token-that-has-more-than-32-letters"
    (settings / "token").write_text(token)
    (settings / "portcullis.toml").write_text(f'[http]\nlisten = "{address}"\ntoken-file = "/etc/portcullis/token"\n')
    volume = f"--volume={settings}:/etc/portcullis:ro"
    name = run("the service", "podman", "run", "--detach", *HARDENED, "--network=host", volume, image).strip()
    try:
        wait(f"http://{address}/readyz", name)
        process = run("the service", "podman", "inspect", "--format={{.State.Pid}}", name).strip()
        look_at(pathlib.Path("/proc", process))
        call(f"http://{address}/mcp", token)
    except Exception:
        print(subprocess.run(["podman", "logs", name], capture_output=True, text=True).stderr)
        run("the service", "podman", "kill", name)
        raise
    run("the service", "podman", "stop", "--time=20", name)
    print("the container as a service: a user without rights, a file system without writing, one tool called")


def wait(address: str, name: str) -> None:
    """Waits until the service is ready."""
    end = time.monotonic() + 60
    while True:
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except OSError as error:
            if time.monotonic() > end:
                raise CheckError(f"the service {name} is not ready: {error}") from error
            time.sleep(0.2)


def look_at(process: pathlib.Path) -> None:
    """Checks the user, the rights and the root folder of the service, as the kernel knows them."""
    status = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
    users = status["Uid"].split() + status["Gid"].split()
    if set(users) != {USER} or int(status["CapEff"], 16) != 0 or status["NoNewPrivs"].strip() != "1":
        raise CheckError(f"the service has rights: users {users}, capabilities {status['CapEff'].strip()}")
    mounts = [line.split() for line in (process / "mountinfo").read_text().splitlines()]
    writable = {one[4] for one in mounts if "rw" in one[5].split(",")}
    kernel = ("/proc", "/sys", "/dev")
    own = {path for path in writable if not path.startswith(kernel)}
    if own - {"/var/lib/portcullis", "/etc/hosts", "/etc/resolv.conf", "/etc/hostname", "/run/.containerenv"}:
        raise CheckError(f"the service may write to {sorted(own)}")


def call(address: str, token: str) -> None:
    """Calls a tool in a session of MCP 2025-11-25."""
    client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "check", "version": "1"}}
    headers = {
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2025-11-25",
    }

    def post(message: dict) -> tuple[str, str]:
        request = urllib.request.Request(address, json.dumps({"jsonrpc": "2.0"} | message).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.headers.get("Mcp-Session-Id", ""), answer.read().decode()
        except urllib.error.HTTPError as error:
            raise CheckError(f"the service answers with status {error.code}: {error.read().decode()}") from error

    headers["Mcp-Session-Id"], _ = post({"id": 1, "method": "initialize", "params": client})
    post({"method": "notifications/initialized"})
    _, answer = post({"id": 2, "method": "tools/call", "params": {"name": "get_guidelines", "arguments": {}}})
    if '"content"' not in answer or '"isError":true' in answer:
        raise CheckError(f"the service: the tool get_guidelines answers {answer}")
