"""The Python wheel, by which `uvx` and `pipx` run the binary: the wheel format 1.0 of the Python packaging guide."""

import base64
import hashlib

from containers import zipped
from product import PackagingError


def make(product):
    """One wheel. The binary is one of its scripts, so that installers put it into the folder of scripts."""
    tags = [f"py3-none-{tag}" for tag in platform_tags(product)]
    # One file name for several platforms: see "compressed tag sets" in the specification of platform tags.
    tag = "py3-none-" + ".".join(platform_tags(product))
    name = f"{product.name}-{product.version}"
    entries = [
        (f"{name}.data/scripts/{product.file_name}", product.binary, True),
        (f"{name}.dist-info/METADATA", metadata(product), False),
        (f"{name}.dist-info/WHEEL", wheel_file(tags), False),
        (f"{name}.dist-info/licenses/LICENSE", product.texts["LICENSE"], False),
    ]
    record = f"{name}.dist-info/RECORD"
    lines = [f"{path},sha256={digest(contents)},{len(contents)}\n" for path, contents, _ in sorted(entries)]
    entries.append((record, ("".join(lines) + f"{record},,\n").encode(), False))
    return {f"{name}-{tag}.whl": zipped(entries, product.time)}


def wheel_file(tags: list[str]) -> bytes:
    """The metadata of the wheel itself. It names each tag on a line of its own."""
    lines = "".join(f"Tag: {tag}\n" for tag in tags)
    return f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\n{lines}".encode()


def platform_tags(product) -> list[str]:
    """The platform tags, which name the systems that can run the binary."""
    target = product.platform.target
    processor = target.split("-")[0]
    if target.endswith("linux-gnu"):
        if product.glibc is None:
            raise PackagingError("the wheel: the binary names no version of the GNU C library")
        return ["manylinux_{}_{}_{}".format(*product.glibc, processor)]
    if target.endswith("linux-musl"):
        if product.glibc is not None:
            raise PackagingError("the wheel: the binary needs the GNU C library, and its target says that it does not")
        # A static binary runs on all systems that installers know, with the GNU C library and with musl.
        return [f"manylinux_2_17_{processor}", f"manylinux2014_{processor}", f"musllinux_1_1_{processor}"]
    one = {
        "aarch64-apple-darwin": "macosx_11_0_arm64",
        "x86_64-apple-darwin": "macosx_10_12_x86_64",
        "x86_64-pc-windows-gnu": "win_amd64",
    }
    return [one[target]]


def metadata(product) -> bytes:
    """The core metadata, version 2.4, with the README as the description."""
    head = (
        f"Metadata-Version: 2.4\nName: {product.name}\nVersion: {product.version}\n"
        f"Summary: {product.description}\nLicense-Expression: {product.license}\nLicense-File: LICENSE\n"
        "Requires-Python: >=3.8\nDescription-Content-Type: text/markdown\n\n"
    )
    mark = f"<!-- mcp-name: {product.registry_name} -->\n" if product.registry_name else ""
    return head.encode() + mark.encode() + product.texts["README.md"]


def digest(contents: bytes) -> str:
    """A SHA-256 digest in the format of RECORD files."""
    return base64.urlsafe_b64encode(hashlib.sha256(contents).digest()).rstrip(b"=").decode()
