#!/usr/bin/env python3
"""Makes the files of a release from one binary: archive, packages, bill of materials, provenance and checksums.

The same binary and commit give the same files, byte for byte.
"""

import argparse
import hashlib
import os
import pathlib
import sys
import tempfile

import formats
from product import PackagingError, load


def main() -> int:
    """The command line. Exit code 1: a file could not be made, and the reason is on stderr."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=pathlib.Path, required=True, help="the binary, which is run to write its pages")
    parser.add_argument(
        "--runner",
        help="the program that runs the binary, such as qemu-aarch64-static or wine64, if this machine cannot run it itself",
    )
    parser.add_argument("--target", required=True, help="the target it was built for")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="the folder for the files")
    parser.add_argument("--namespace", help="the namespace in the MCP registry, such as io.github.OWNER")
    parser.add_argument("--download-base", help="the address at which the files will be published")
    arguments = parser.parse_args()
    try:
        addresses = (arguments.namespace, arguments.download_base)
        product = load(arguments.binary.resolve(), arguments.target, arguments.runner, *addresses)
        made = {}
        for one in formats.FORMATS:
            made |= one.make(product)
        for one in formats.LAST:
            made |= one.make(product, made)
        made["SHA256SUMS"] = sums(made)
        write(made, arguments.out)
    except PackagingError as error:
        print(f"package.py: {error}", file=sys.stderr)
        return 1
    for name in sorted(made):
        print(f"{len(made[name]):>12}  {arguments.out / name}")
    return 0


def sums(made: dict[str, bytes]) -> bytes:
    """The checksums, as `sha256sum --check` reads them."""
    lines = (f"{hashlib.sha256(contents).hexdigest()}  {name}\n" for name, contents in sorted(made.items()))
    return "".join(lines).encode()


def write(made: dict[str, bytes], out: pathlib.Path) -> None:
    """Writes all files. Each is written under another name first, so that no file is ever incomplete."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, contents in made.items():
            with tempfile.NamedTemporaryFile(dir=out, delete=False) as file:
                file.write(contents)
            os.chmod(file.name, 0o644)
            os.replace(file.name, out / name)
    except OSError as error:
        raise PackagingError(f"cannot write to {out}: {error.strerror}") from error


if __name__ == "__main__":
    sys.exit(main())
