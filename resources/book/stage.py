"""Collects the pages of the book for mdBook.

    python3 resources/book/stage.py FOLDER

SUMMARY.md lists the pages in their order. Each page is copied to FOLDER/pages, to its path in the repository, so that links
between pages stay as they are. The decisions are added after the last line of the summary, in the order of their index.

Links to what is not in the book become links to copies of the files, or plain text for folders. The script fails for a page in
`docs` that is not in the summary, and for a link without a target.
"""

import posixpath
import re
import shutil
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
BOOK = REPOSITORY / "resources" / "book"
DECISIONS = "docs/adr/README.md"

# A link or a picture with a target that has no spaces.
LINK = re.compile(r"(!?)\[((?:[^\]\\]|\\.)*)\]\(([^)\s]+)\)")
# Lines between fences are code.
FENCE = re.compile(r"^\s*(```|~~~)")


def summary():
    """The text of the summary with the decisions, and the paths of all its pages."""
    text = (BOOK / "SUMMARY.md").read_text(encoding="utf-8")
    index = (REPOSITORY / DECISIONS).read_text(encoding="utf-8")
    folder = posixpath.dirname(DECISIONS)
    for title, target in re.findall(r"^- \[(.+)\]\((\S+)\)$", index, re.MULTILINE):
        text += f"  - [{title}]({folder}/{target})\n"
    return text, re.findall(r"\]\((\S+)\)", text)


def resolve(page, target):
    """The path in the repository to which a link of a page leads, and the anchor with its `#`."""
    path, hash_sign, anchor = target.partition("#")
    path = posixpath.normpath(posixpath.join(posixpath.dirname(page), path)) if path else page
    return path, hash_sign + anchor


class Stage:
    """The folder of collected pages."""

    def __init__(self, folder, pages):
        self.folder = folder
        self.pages = set(pages)
        self.faults = []

    def copy(self, path):
        to = self.folder / path
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(REPOSITORY / path, to)

    def page(self, page):
        """Collects a page."""
        lines, is_code = [], False
        for line in (REPOSITORY / page).read_text(encoding="utf-8").splitlines():
            if FENCE.match(line):
                is_code = not is_code
            elif not is_code:
                line = LINK.sub(lambda link: self.link(page, link), line)
            lines.append(line)
        to = self.folder / page
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def link(self, page, link):
        """A link as it is in the book."""
        mark, text, target = link.groups()
        if "://" in target or target.startswith("mailto:"):
            return link.group()
        path, anchor = resolve(page, target)
        if f"{path}/README.md" in self.pages:
            path = f"{path}/README.md"
        if path in self.pages:
            if posixpath.basename(path) != "README.md":
                return link.group()
            # mdBook calls the page of a folder `index.html`, but does not change links to it.
            path = posixpath.join(posixpath.dirname(path), "index.md")
            return f"{mark}[{text}]({posixpath.relpath(path, posixpath.dirname(page) or '.')}{anchor})"
        if (REPOSITORY / path).is_file():
            self.copy(path)
            return link.group()
        if (REPOSITORY / path).is_dir():
            return text
        self.faults.append(f"{page}: the link {target} has no target")
        return link.group()


def main(folder):
    text, pages = summary()
    shutil.rmtree(folder, ignore_errors=True)
    stage = Stage(folder / "pages", pages)
    documents = {path.relative_to(REPOSITORY).as_posix() for path in (REPOSITORY / "docs").rglob("*.md")}
    examples = {path for path in documents if path.startswith("docs/examples/")}
    for page in sorted(documents - examples - set(pages)):
        stage.faults.append(f"{page} is not in resources/book/SUMMARY.md")
    for page in pages:
        if (REPOSITORY / page).is_file():
            stage.page(page)
        else:
            stage.faults.append(f"resources/book/SUMMARY.md: there is no page {page}")
    if stage.faults:
        sys.exit("\n".join(stage.faults))
    (folder / "pages" / "SUMMARY.md").write_text(text, encoding="utf-8")
    shutil.copyfile(BOOK / "book.toml", folder / "book.toml")
    print(f"{len(pages)} pages in {folder / 'pages'}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
