#!/usr/bin/env python3
"""Installs each package of a release from its file, and lists and calls tools through it as an MCP client does.

A static binary is also started in a root folder that contains nothing else, and in a container. Needs Python with venv, npm,
`dpkg-deb`, and `unshare` of util-linux for a static binary. Packages for arm64 need qemu-user-static on other processors, and
those for Windows need Wine and Node.js for Windows. The official tool checks the MCP bundle, and a library of CycloneDX the bill of
materials; these come from their registries.
"""

import argparse
import pathlib
import platform as machine
import shutil
import sys
import tempfile

import check_container
import check_windows
from checking import CheckError, install_npm, install_wheel, pip_of, platform_of, run, the, unzip, use_server

# For Node.js on another platform than that of the packages: a program that Node.js loads first.
STAND_IN = pathlib.Path(__file__).with_name("other-platform.cjs")


def runner_of(target: str) -> list[str]:
    """The command that runs a binary for Linux on this machine. Empty: the machine runs it itself."""
    processor = target.split("-")[0]
    if processor == machine.machine():
        return []
    program = shutil.which(f"qemu-{processor}-static")
    if program is None:
        raise CheckError(f"packages for {processor} run on this machine by qemu-{processor}-static, which is missing")
    return [program]


def check(out: pathlib.Path, folder: pathlib.Path) -> None:
    """Checks each file of the release."""
    if not out.is_dir():
        raise CheckError(f"{out} does not exist: make the packages first, for example with `just release`")
    files = sorted(out.iterdir())
    run("the checksums", "sha256sum", "--check", "--quiet", "SHA256SUMS", cwd=out)
    if any("-windows-" in file.name for file in files):
        check_windows.check(files, folder)
    else:
        check_linux(files, folder)
        check_npm(files, folder)
    check_descriptions(files, folder)


def check_linux(files: list[pathlib.Path], folder: pathlib.Path) -> None:
    """Checks the packages for Linux, except those of npm."""
    archive = the(files, "the archive", ".tar.gz")
    runner = runner_of(platform_of(archive).target)
    run("the archive", "tar", "-xzf", archive, "-C", folder)
    program = next(folder.glob("portcullis-*/portcullis"))
    use_server("the archive", [*runner, program], folder)

    if "-linux-musl" in archive.name:
        empty = folder / "empty"
        empty.mkdir()
        # The emulator is a static binary, too.
        for one in (*runner, program):
            shutil.copy(one, empty)
        alone = ["unshare", "--map-root-user", f"--root={empty}", *(f"/{pathlib.Path(one).name}" for one in (*runner, program))]
        use_server("the binary in an empty root folder", alone, empty, pathlib.Path("/"))
        if runner:
            print("the container: not checked, since it is for another processor")
        else:
            check_container.check(program.parent, folder)

    debian = folder / "debian"
    package = the(files, "the Debian package", ".deb")
    architecture = run("the Debian package", "dpkg-deb", "--field", package, "Architecture").strip()
    if architecture != platform_of(archive).debian:
        raise CheckError(f"the Debian package: it is for {architecture}")
    run("the Debian package", "dpkg-deb", "--extract", package, debian)
    use_server("the Debian package", [*runner, debian / "usr/bin/portcullis"], folder)

    wheel = the(files, "the wheel", ".whl")
    use_server("the wheel", [*runner, install_wheel(wheel, folder, is_foreign=bool(runner)) / "portcullis"], folder)

    program = unzip(the(files, "the MCP bundle", ".mcpb"), folder / "bundle") / "server/portcullis"
    program.chmod(0o755)
    use_server("the MCP bundle", [*runner, program], folder)


def check_npm(files: list[pathlib.Path], folder: pathlib.Path) -> None:
    """Installs the npm packages, and starts the main package, which chooses the package of the platform."""
    platform = platform_of(the(files, "the archive", ".tar.gz"))
    runner = runner_of(platform.target)
    node = install_npm(files, folder, platform, is_foreign=bool(runner))
    variables = {}
    if runner:
        system, processor = platform.npm
        variables = {"PLATFORM": system, "ARCH": processor, "RUNNER": runner[0], "NODE_OPTIONS": f"--require={STAND_IN}"}
    use_server("the npm packages", [node / "node_modules/.bin/portcullis"], folder, **variables)


def check_descriptions(files: list[pathlib.Path], folder: pathlib.Path) -> None:
    """Checks the manifest of the MCP bundle and the bill of materials."""
    bundle = unzip(the(files, "the MCP bundle", ".mcpb"), folder / "described")
    mcpb = ["npx", "--yes", "@anthropic-ai/mcpb@2.1.2", "validate", bundle / "manifest.json"]
    print("the MCP bundle:", run("the MCP bundle", *mcpb, cwd=folder / "node").strip())

    run("the bill of materials", *pip_of(folder), "cyclonedx-python-lib[json-validation]==11.6.0")
    python = folder / "python/bin/python"
    run("the bill of materials", python, "-c", VALIDATE, the(files, "the bill of materials", ".cdx.json"))
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
