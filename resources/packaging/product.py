"""The program that is packaged: its metadata, its binary, and the files that go with it."""

import os
import pathlib
import re
import subprocess
import tempfile
import tomllib
from dataclasses import dataclass, field

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


class PackagingError(Exception):
    """A package cannot be made. The text says which one, and why."""


@dataclass(frozen=True)
class Platform:
    """A platform, by the names that the package formats use for it. `None`: the format does not exist there."""

    target: str
    npm: tuple[str, str] | None
    debian: str | None
    mcpb: str | None
    suffix: str = ""


PLATFORMS = {
    platform.target: platform
    for platform in (
        Platform("x86_64-unknown-linux-gnu", ("linux", "x64"), "amd64", "linux"),
        Platform("aarch64-unknown-linux-gnu", ("linux", "arm64"), "arm64", "linux"),
        # Static binaries, which run beside any C library, or without one: their packages have the same names.
        Platform("x86_64-unknown-linux-musl", ("linux", "x64"), "amd64", "linux"),
        Platform("aarch64-unknown-linux-musl", ("linux", "arm64"), "arm64", "linux"),
        Platform("aarch64-apple-darwin", ("darwin", "arm64"), None, "darwin"),
        Platform("x86_64-apple-darwin", ("darwin", "x64"), None, "darwin"),
        Platform("x86_64-pc-windows-gnu", ("win32", "x64"), None, "win32", ".exe"),
    )
}


@dataclass
class Product:
    """One binary for one platform, with the metadata that its packages contain."""

    binary: bytes
    platform: Platform
    # Time of the commit, in seconds since 1970. All files in all packages have it, so that packages are reproducible.
    time: int
    commit: str
    # The namespace in the MCP registry, such as `io.github.owner`. `None`: packages have no name in the registry.
    namespace: str | None
    # The URL from which the files of the release will be downloaded. `None`: manifests with URLs are not made.
    download_base: str | None
    # Manual pages and shell completions: path in the package, and contents.
    pages: dict[str, bytes] = field(default_factory=dict)

    name = "portcullis"

    def __post_init__(self):
        manifest = tomllib.loads((REPOSITORY / "Cargo.toml").read_text())
        own = tomllib.loads((REPOSITORY / "host/portcullis/Cargo.toml").read_text())
        self.version = manifest["workspace"]["package"]["version"]
        self.license = manifest["workspace"]["package"]["license"]
        self.description = own["package"]["description"]
        self.file_name = self.name + self.platform.suffix
        self.texts = {
            name: (REPOSITORY / name).read_bytes() for name in ("LICENSE", "README.md", "CHANGELOG.md", "SECURITY.md")
        }

    @property
    def registry_name(self) -> str | None:
        """The name in the MCP registry."""
        return f"{self.namespace}/{self.name}" if self.namespace else None

    @property
    def glibc(self) -> tuple[int, int] | None:
        """The version of the GNU C library that the binary needs. `None`: it needs none."""
        versions = re.findall(rb"GLIBC_(\d+)\.(\d+)", self.binary)
        return max(((int(major), int(minor)) for major, minor in versions), default=None)

    def unpacked_name(self) -> str:
        """The name of the archive's folder, and of the archive without its suffix."""
        return f"{self.name}-{self.version}-{self.platform.target}"


def git(*arguments: str) -> str:
    """The output of a git command in the repository."""
    done = subprocess.run(["git", *arguments], cwd=REPOSITORY, capture_output=True, text=True)
    if done.returncode != 0:
        raise PackagingError(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout.strip()


def load(
    binary: pathlib.Path, target: str, runner: str | None, namespace: str | None, download_base: str | None
) -> Product:
    """Reads the binary and the metadata of the release. Runs the binary, which writes its manual pages and completions.
    `runner`: the program that runs it, if this machine cannot."""
    if target not in PLATFORMS:
        raise PackagingError(f"`{target}` is not a known target: use one of {', '.join(PLATFORMS)}")
    try:
        data = binary.read_bytes()
    except OSError as error:
        raise PackagingError(f"cannot read the binary {binary}: {error.strerror}") from error
    time = os.environ.get("SOURCE_DATE_EPOCH") or git("log", "-1", "--format=%ct")
    product = Product(data, PLATFORMS[target], int(time), git("rev-parse", "HEAD"), namespace, download_base)
    product.pages = pages([runner, binary] if runner else [binary])
    return product


def pages(binary: list) -> dict[str, bytes]:
    """The manual pages and completions that the binary writes. They are the same on all platforms."""
    name = " ".join(map(str, binary))
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run([*binary, "pages", folder], capture_output=True, text=True, timeout=300)
        except OSError as error:
            raise PackagingError(f"cannot run {name}, which writes the manual pages: {error.strerror}") from error
        if done.returncode != 0:
            raise PackagingError(f"{name} pages: {done.stderr.strip()}")
        root = pathlib.Path(folder)
        return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}
