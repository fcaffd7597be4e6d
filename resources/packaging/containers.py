"""Reproducible archives: entries are sorted, owned by root, and have the time of the commit."""

import gzip
import io
import lzma
import tarfile
import time
import zipfile

# Path in the archive, contents, and whether the file is executable.
Entry = tuple[str, bytes, bool]


def tar_gz(entries: list[Entry], when: int) -> bytes:
    """A tar archive that is compressed by gzip, with an entry for each folder."""
    return gzip.compress(tar(entries, when), compresslevel=9, mtime=0)


def tar_xz(entries: list[Entry], when: int) -> bytes:
    """As `tar_gz`, compressed by xz: two thirds of the size, for readers that know xz."""
    return lzma.compress(tar(entries, when), preset=6)


def tar(entries: list[Entry], when: int) -> bytes:
    """A tar archive, with an entry for each folder."""
    inner = io.BytesIO()
    with tarfile.open(fileobj=inner, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for folder in folders(entries):
            head = tarfile.TarInfo(folder)
            head.type, head.mode, head.mtime = tarfile.DIRTYPE, 0o755, when
            archive.addfile(head)
        for path, contents, executable in sorted(entries):
            head = tarfile.TarInfo(path)
            head.size, head.mode, head.mtime = len(contents), 0o755 if executable else 0o644, when
            archive.addfile(head, io.BytesIO(contents))
    return inner.getvalue()


def zipped(entries: list[Entry], when: int) -> bytes:
    """A zip archive. Unix modes are kept."""
    moment = time.gmtime(when)[:6]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path, contents, executable in sorted(entries):
            head = zipfile.ZipInfo(path, moment)
            head.compress_type = zipfile.ZIP_DEFLATED
            head.create_system = 3
            head.external_attr = (0o100755 if executable else 0o100644) << 16
            archive.writestr(head, contents)
    return out.getvalue()


def ar(members: list[tuple[str, bytes]], when: int) -> bytes:
    """A Unix `ar` archive, as Debian packages are: see deb(5)."""
    out = [b"!<arch>\n"]
    for name, contents in members:
        out.append(f"{name:<16}{when:<12}{0:<6}{0:<6}{100644:<8}{len(contents):<10}`\n".encode())
        out.append(contents + b"\n" * (len(contents) % 2))
    return b"".join(out)


def folders(entries: list[Entry]) -> list[str]:
    """All folders above the entries, the outer ones first."""
    found = set()
    for path, _, _ in entries:
        parts = path.split("/")[:-1]
        if parts[:1] == ["."]:
            found.update("/".join(parts[:count]) for count in range(2, len(parts) + 1))
        else:
            found.update("/".join(parts[:count]) for count in range(1, len(parts) + 1))
    return sorted(found)
