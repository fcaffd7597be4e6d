"""The Debian package: see deb(5) and the Debian Policy Manual, chapter 5."""

import gzip
import hashlib

from containers import ar, tar_gz, tar_xz


def make(product):
    """One `.deb`, for the targets that Debian has an architecture for."""
    architecture = product.platform.debian
    if architecture is None:
        return {}
    share = "./usr/share"
    entries = [
        ("./usr/bin/portcullis", product.binary, True),
        (f"{share}/doc/portcullis/copyright", copyright_file(product), False),
        (f"{share}/doc/portcullis/README.md", product.texts["README.md"], False),
        (f"{share}/doc/portcullis/changelog.gz", gzip.compress(product.texts["CHANGELOG.md"], 9, mtime=0), False),
    ]
    for name, text in product.pages.items():
        if name.startswith("man/"):
            entries.append((f"{share}/man/man1/{name[4:]}.gz", gzip.compress(text, 9, mtime=0), False))
    completions = {
        "completions/portcullis.bash": "bash-completion/completions/portcullis",
        "completions/_portcullis": "zsh/vendor-completions/_portcullis",
        "completions/portcullis.fish": "fish/vendor_completions.d/portcullis.fish",
    }
    entries += [(f"{share}/{to}", product.pages[name], False) for name, to in completions.items()]
    sums = "".join(
        f"{hashlib.md5(contents, usedforsecurity=False).hexdigest()}  {path[2:]}\n"
        for path, contents, _ in sorted(entries)
    )
    control = [("./control", control_file(product, entries), False), ("./md5sums", sums.encode(), False)]
    members = [
        ("debian-binary", b"2.0\n"),
        ("control.tar.gz", tar_gz(control, product.time)),
        ("data.tar.xz", tar_xz(entries, product.time)),
    ]
    return {f"portcullis_{product.version}_{architecture}.deb": ar(members, product.time)}


def control_file(product, entries) -> bytes:
    """The metadata. `Installed-Size` is in KiB."""
    size = sum(len(contents) for _, contents, _ in entries) // 1024 + 1
    # A static binary needs no library.
    needs = ["libgcc-s1", "libc6 (>= {}.{})".format(*product.glibc)] if product.glibc else []
    fields = {
        "Package": "portcullis",
        "Version": product.version,
        "Architecture": product.platform.debian,
        "Maintainer": "The Portcullis developers <developers@portcullis.invalid>",
        "Installed-Size": size,
        **({"Depends": ", ".join(needs)} if needs else {}),
        "Recommends": "ca-certificates",
        "Section": "devel",
        "Priority": "optional",
        "Description": f"MCP server with sandboxed tools\n {product.description}",
    }
    return "".join(f"{name}: {value}\n" for name, value in fields.items()).encode()


def copyright_file(product) -> bytes:
    """The licence, in Debian's machine-readable form."""
    text = "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\n"
    text += f"Files: *\nCopyright: The Portcullis developers\nLicense: {product.license}\n"
    text += " The text of the licence is in /usr/share/common-licenses/Apache-2.0.\n"
    return text.encode()
