"""The package formats. Each module has `make(product)`, which returns the files of a release: name and contents."""

from . import archive, bill_of_materials, debian, manifests, mcpb, npm, provenance, wheel

# The order matters: `provenance` and `manifests` contain digests of the files that the others made.
FORMATS = (archive, debian, mcpb, npm, wheel, bill_of_materials)
LAST = (manifests, provenance)
