"""The npm packages: one with the binary for each platform, and one that starts the binary of the platform it runs on."""

import json

from containers import tar_gz
from product import PLATFORMS


def make(product):
    """The package of this platform, and the main package, which users install. The main package is the same for all platforms."""
    if product.platform.npm is None:
        return {}
    name = package_name(product, product.platform)
    system, processor = product.platform.npm
    binary = {
        "package.json": package(product, name, {"os": [system], "cpu": [processor], "files": [product.file_name]}),
        product.file_name: product.binary,
        "LICENSE": product.texts["LICENSE"],
    }
    others = {
        package_name(product, platform): product.version for platform in PLATFORMS.values() if platform.npm is not None
    }
    # npm installs the optional dependencies whose `os` and `cpu` match.
    extra = {"bin": {product.name: "start.js"}, "files": ["start.js"], "optionalDependencies": others}
    extra["engines"] = {"node": ">=18"}
    if product.registry_name:
        # The MCP registry compares this name with that of `server.json`.
        extra["mcpName"] = product.registry_name
    main = {
        "package.json": package(product, product.name, extra),
        "start.js": START.encode(),
        "README.md": product.texts["README.md"],
        "LICENSE": product.texts["LICENSE"],
    }
    return {
        f"{name}-{product.version}.tgz": packed(product, binary, {product.file_name}),
        f"{product.name}-{product.version}.tgz": packed(product, main, {"start.js"}),
    }


def package_name(product, platform) -> str:
    """The name of the package with the binary for a platform."""
    return "-".join((product.name, *platform.npm))


def package(product, name: str, extra: dict) -> bytes:
    """A `package.json`."""
    text = {"name": name, "version": product.version, "description": product.description, "license": product.license}
    return json.dumps(text | extra, indent=2).encode() + b"\n"


def packed(product, files: dict[str, bytes], executable: set[str]) -> bytes:
    """The tarball of a package: npm expects its files in a folder `package`."""
    entries = [(f"package/{name}", contents, name in executable) for name, contents in files.items()]
    return tar_gz(entries, product.time)


START = """\
#!/usr/bin/env node
// Starts the binary of the package for this platform, and ends with its exit code or signal.
"use strict";
const { spawn } = require("node:child_process");

const name = `portcullis-${process.platform}-${process.arch}`;
const file = process.platform === "win32" ? "portcullis.exe" : "portcullis";
let binary;
try {
  binary = require.resolve(`${name}/${file}`);
} catch {
  console.error(
    `portcullis: the package ${name} is not installed. Either there is no binary for this platform, or npm was ` +
      "told to leave out optional dependencies (--omit=optional).",
  );
  process.exit(1);
}
const child = spawn(binary, process.argv.slice(2), { stdio: "inherit" });
const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
for (const signal of signals) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`portcullis: cannot start ${binary}: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  for (const name of signals) process.removeAllListeners(name);
  process.kill(process.pid, signal);
});
"""
