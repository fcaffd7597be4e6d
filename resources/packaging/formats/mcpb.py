"""The MCP bundle (`.mcpb`), which Claude Desktop installs with a click: MCPB manifest, version 0.3."""

import json

from containers import zipped


def make(product):
    """One bundle, for the platforms that MCPB knows."""
    platform = product.platform
    if platform.mcpb is None:
        return {}
    entries = [
        ("manifest.json", json.dumps(manifest(product), indent=2).encode() + b"\n", False),
        (f"server/{product.file_name}", product.binary, True),
        ("LICENSE", product.texts["LICENSE"], False),
        ("README.md", product.texts["README.md"], False),
    ]
    return {f"{product.unpacked_name()}.mcpb": zipped(entries, product.time)}


def manifest(product) -> dict:
    """The manifest. The user chooses the one folder that the tools may access."""
    program = f"server/{product.file_name}"
    return {
        "manifest_version": "0.3",
        "name": product.name,
        "display_name": "Portcullis",
        "version": product.version,
        "description": product.description,
        "author": {"name": "The Portcullis developers"},
        "license": product.license,
        "server": {
            "type": "binary",
            "entry_point": program,
            "mcp_config": {
                "command": "${__dirname}/" + program,
                "args": ["serve", "--root", "${user_config.folder}"],
                "env": {},
            },
        },
        "tools_generated": True,
        "prompts_generated": True,
        "user_config": {
            "folder": {
                "type": "directory",
                "title": "Folder",
                "description": "The folder that the tools may access: a project, or a folder of projects",
                "required": True,
                "default": "${HOME}",
            }
        },
        "compatibility": {"platforms": [product.platform.mcpb]},
    }
