"""The archive: the binary, its licence and documents, manual pages and completions."""

from containers import tar_gz, zipped


def make(product):
    """A `.zip` for Windows, a `.tar.gz` for all others."""
    folder = product.unpacked_name()
    entries = [(f"{folder}/{product.file_name}", product.binary, True)]
    entries += [(f"{folder}/{name}", text, False) for name, text in product.texts.items()]
    entries += [(f"{folder}/{name}", text, False) for name, text in product.pages.items()]
    if product.platform.suffix:
        return {f"{folder}.zip": zipped(entries, product.time)}
    return {f"{folder}.tar.gz": tar_gz(entries, product.time)}
