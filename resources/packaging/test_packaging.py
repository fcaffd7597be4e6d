#!/usr/bin/env python3
"""Tests of the packages, with a small script in the place of the binary. They need no network."""

import hashlib
import io
import json
import os
import pathlib
import stat
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

from formats import bill_of_materials

HERE = pathlib.Path(__file__).parent

# Writes pages like the binary. The packages read the required version of the C library from the comment.
STAND_IN = """#!/bin/sh
# GLIBC_2.17 GLIBC_2.34 GLIBC_2.4
mkdir -p "$2/man" "$2/completions"
echo page > "$2/man/portcullis.1"
for name in portcullis.bash _portcullis portcullis.fish; do echo "$name" > "$2/completions/$name"; done
"""


STATIC = STAND_IN.replace("# GLIBC_2.17 GLIBC_2.34 GLIBC_2.4\n", "")


def package(
    folder: pathlib.Path, name: str, *more: str, target="x86_64-unknown-linux-gnu", text=STAND_IN, mode=0o755
):
    """Runs `package.py`. Returns the finished process, and the folder with the files that were made."""
    binary = folder / "portcullis"
    binary.write_text(text)
    binary.chmod(mode)
    out = folder / name
    command = [sys.executable, HERE / "package.py", "--binary", binary, "--target", target, "--out", out, *more]
    return subprocess.run(command, capture_output=True, text=True, timeout=120), out


def part(debian: pathlib.Path, name: str) -> bytes:
    """A member of a Debian package, which is an `ar` archive."""
    contents = debian.read_bytes()
    start = contents.index(name.encode()) + 60
    return contents[start : start + int(contents[start - 12 : start - 2])]


class Packages(unittest.TestCase):
    """Tests of the files that are made from one binary."""

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        address = ["--namespace", "io.github.somebody", "--download-base", "https://host.test/v1/"]
        cls.ended, cls.out = package(cls.folder, "one", *address)
        if cls.ended.returncode != 0:
            raise AssertionError(cls.ended.stderr)
        _, cls.again = package(cls.folder, "two", *address)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def read(self, suffix: str) -> bytes:
        """The contents of the one file whose name ends like this."""
        found = [path for path in self.out.iterdir() if path.name.endswith(suffix)]
        self.assertEqual(len(found), 1, suffix)
        return found[0].read_bytes()

    def test_a_second_run_makes_the_same_bytes(self):
        first = {path.name: path.read_bytes() for path in self.out.iterdir()}
        self.assertEqual(first, {path.name: path.read_bytes() for path in self.again.iterdir()})
        self.assertGreater(len(first), 9)

    def test_checksums_and_provenance_name_each_file(self):
        sums = dict(reversed(line.split("  ")) for line in self.read("SHA256SUMS").decode().splitlines())
        for path in self.out.iterdir():
            if path.name != "SHA256SUMS":
                self.assertEqual(sums.pop(path.name), hashlib.sha256(path.read_bytes()).hexdigest())
        self.assertEqual(sums, {})
        statement = json.loads(self.read(".intoto.json"))
        named = {one["name"] for one in statement["subject"]}
        self.assertEqual(named | {"SHA256SUMS"} | {path.name for path in self.out.glob("*.intoto.json")},
                         {path.name for path in self.out.iterdir()})

    def test_the_binary_can_be_executed_in_each_package(self):
        with tarfile.open(fileobj=io.BytesIO(self.read("gnu.tar.gz"))) as archive:
            modes = {member.name.rpartition("/")[2]: member.mode for member in archive}
        self.assertEqual((modes["portcullis"], modes["README.md"], modes["portcullis.1"]), (0o755, 0o644, 0o644))
        for suffix, name in ((".whl", ".data/scripts/portcullis"), (".mcpb", "server/portcullis")):
            with zipfile.ZipFile(io.BytesIO(self.read(suffix))) as archive:
                (entry,) = (one for one in archive.infolist() if one.filename.endswith(name))
                self.assertTrue((entry.external_attr >> 16) & stat.S_IXUSR, suffix)

    def test_the_wheel_names_the_c_library_that_the_binary_needs(self):
        (wheel,) = self.out.glob("*.whl")
        self.assertTrue(wheel.name.endswith("-py3-none-manylinux_2_34_x86_64.whl"), wheel.name)
        (debian,) = self.out.glob("*.deb")
        with tarfile.open(fileobj=io.BytesIO(part(debian, "control.tar.gz"))) as archive:
            text = archive.extractfile("./control").read().decode()
        self.assertIn("libc6 (>= 2.34)", text)
        # dpkg reads no other member as the files of the package.
        with tarfile.open(fileobj=io.BytesIO(part(debian, "data.tar.xz"))) as archive:
            self.assertTrue(archive.getmember("./usr/bin/portcullis").mode & stat.S_IXUSR)

    def test_npm_packages_have_one_version_and_know_each_other(self):
        packages = {}
        for path in self.out.glob("*.tgz"):
            with tarfile.open(path) as archive:
                content = json.load(archive.extractfile("package/package.json"))
            packages[content["name"]] = content
        main, platform = packages["portcullis"], packages["portcullis-linux-x64"]
        self.assertEqual(main["optionalDependencies"]["portcullis-linux-x64"], platform["version"])
        self.assertEqual((platform["os"], platform["cpu"]), (["linux"], ["x64"]))
        self.assertEqual(main["mcpName"], json.loads(self.read("server.json"))["name"])

    def test_manifests_have_addresses_and_digests_of_files_that_exist(self):
        server = json.loads(self.read("server.json"))
        bundle = server["packages"][0]
        name = bundle["identifier"].removeprefix("https://host.test/v1/")
        self.assertEqual(bundle["fileSha256"], hashlib.sha256((self.out / name).read_bytes()).hexdigest())
        self.assertLessEqual(len(server["description"]), 100)
        formula = self.read(".rb").decode()
        archive = hashlib.sha256(self.read("gnu.tar.gz")).hexdigest()
        self.assertIn(f'sha256 "{archive}"', formula)

    def test_the_bill_of_materials_has_host_and_plugins_and_no_tests(self):
        names = {one["name"] for one in json.loads(self.read(".cdx.json"))["components"]}
        self.assertLessEqual({"wasmtime", "rmcp", "ui5-manifest", "portcullis-plugin"}, names)
        self.assertFalse({"insta", "guest-echo"} & names)


    def test_a_bundled_plugin_is_known_wherever_the_repository_is(self):
        for folder in ("/srv/portcullis", "/home/me/plugins/portcullis"):
            for path, expected in (
                ("plugins/ui5/plugins/ui5-linter", True),
                ("plugins/portcullis-plugin", False),
                ("plugins/ui5/libraries/ui5", False),
                ("host/core", False),
            ):
                crate = {"source": None, "manifest_path": f"{folder}/{path}/Cargo.toml"}
                self.assertEqual(bill_of_materials.is_plugin(crate, pathlib.Path(folder)), expected, crate)


class StaticBinary(unittest.TestCase):
    """Tests of the files that are made from a static binary."""

    def test_packages_of_a_static_binary_need_no_c_library(self):
        with tempfile.TemporaryDirectory() as place:
            ended, out = package(pathlib.Path(place), "out", target="x86_64-unknown-linux-musl", text=STATIC)
            self.assertEqual(ended.returncode, 0, ended.stderr)
            names = {path.name for path in out.iterdir()}
            self.assertIn("portcullis-linux-x64-0.1.0.tgz", names)
            with tarfile.open(fileobj=io.BytesIO(part(out / "portcullis_0.1.0_amd64.deb", "control.tar.gz"))) as archive:
                self.assertNotIn("Depends", archive.extractfile("./control").read().decode())
            tags = ("manylinux_2_17_x86_64", "manylinux2014_x86_64", "musllinux_1_1_x86_64")
            with zipfile.ZipFile(out / f"portcullis-0.1.0-py3-none-{'.'.join(tags)}.whl") as wheel:
                lines = wheel.read("portcullis-0.1.0.dist-info/WHEEL").decode().splitlines()
            self.assertEqual([one for one in lines if one.startswith("Tag")], [f"Tag: py3-none-{tag}" for tag in tags])


class OtherPlatforms(unittest.TestCase):
    """Tests of packages for a platform other than that of this machine, whose binary another program runs."""

    def made(self, target: str, text: str = STATIC) -> pathlib.Path:
        """The packages for a target, of a binary that this machine cannot run itself."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        place = pathlib.Path(folder.name)
        ended, out = package(place, "out", "--runner", "/bin/sh", target=target, text=text, mode=0o644)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        return out

    def test_packages_for_arm64_have_the_names_of_its_processor(self):
        out = self.made("aarch64-unknown-linux-musl")
        names = {path.name for path in out.iterdir()}
        tags = "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64"
        for name in (
            "portcullis-0.1.0-aarch64-unknown-linux-musl.tar.gz",
            "portcullis-linux-arm64-0.1.0.tgz",
            f"portcullis-0.1.0-py3-none-{tags}.whl",
        ):
            self.assertIn(name, names)
        with tarfile.open(out / "portcullis-linux-arm64-0.1.0.tgz") as archive:
            content = json.load(archive.extractfile("package/package.json"))
        self.assertEqual((content["os"], content["cpu"]), (["linux"], ["arm64"]))
        debian = part(out / "portcullis_0.1.0_arm64.deb", "control.tar.gz")
        with tarfile.open(fileobj=io.BytesIO(debian)) as archive:
            self.assertIn("Architecture: arm64\n", archive.extractfile("./control").read().decode())

    def test_packages_for_windows_have_the_program_with_its_suffix(self):
        out = self.made("x86_64-pc-windows-gnu")
        places = {
            "portcullis-0.1.0-x86_64-pc-windows-gnu.zip": "portcullis-0.1.0-x86_64-pc-windows-gnu/portcullis.exe",
            "portcullis-0.1.0-py3-none-win_amd64.whl": "portcullis-0.1.0.data/scripts/portcullis.exe",
            "portcullis-0.1.0-x86_64-pc-windows-gnu.mcpb": "server/portcullis.exe",
        }
        for name, program in places.items():
            with zipfile.ZipFile(out / name) as archive:
                self.assertEqual(archive.read(program).decode(), STATIC)
        with tarfile.open(out / "portcullis-win32-x64-0.1.0.tgz") as archive:
            self.assertEqual(archive.extractfile("package/portcullis.exe").read().decode(), STATIC)
        self.assertFalse([path for path in out.iterdir() if path.suffix in (".deb", ".gz")])


class Choice(unittest.TestCase):
    """Tests of the program in the main npm package, which starts the program of the package for its platform."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        _, out = package(self.folder, "out")
        with tarfile.open(out / "portcullis-0.1.0.tgz") as archive:
            (self.folder / "start.js").write_bytes(archive.extractfile("package/start.js").read())
            self.known = json.load(archive.extractfile("package/package.json"))["optionalDependencies"]
        for name in self.known:
            program = self.folder / "node_modules" / name / ("portcullis.exe" if "-win32-" in name else "portcullis")
            program.parent.mkdir(parents=True)
            program.write_text(f'#!/bin/sh\nprintf "%s\\n" "{name}: $*"\nexit 7\n')
            program.chmod(0o755)

    def start(self, system: str, processor: str):
        """Starts the program in Node.js that takes this machine for another platform."""
        stand_in = HERE / "other-platform.cjs"
        command = ["node", "--require", stand_in, self.folder / "start.js", "serve", "--root", "C:\\a b"]
        # The stand-ins of the programs are scripts, which this machine runs itself.
        variables = os.environ | {"PLATFORM": system, "ARCH": processor}
        return subprocess.run(command, capture_output=True, text=True, timeout=60, env=variables)

    def test_the_program_of_each_platform_is_started(self):
        expected = {"linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64", "win32-x64"}
        self.assertEqual(self.known.keys(), {f"portcullis-{one}" for one in expected})
        for platform in expected:
            ended = self.start(*platform.split("-"))
            self.assertEqual(ended.stdout, f"portcullis-{platform}: serve --root C:\\a b\n", ended.stderr)
            self.assertEqual(ended.returncode, 7)

    def test_a_platform_without_a_program_is_named(self):
        ended = self.start("win32", "arm64")
        self.assertEqual(ended.returncode, 1)
        self.assertIn("portcullis-win32-arm64 is not installed", ended.stderr)


class Faults(unittest.TestCase):
    """Tests of failures: the message says the reason, and no file is left."""

    def refused(self, *more: str, **options) -> str:
        """The message of a run that must fail without making a file."""
        with tempfile.TemporaryDirectory() as folder:
            ended, out = package(pathlib.Path(folder), "out", *more, **options)
            self.assertEqual(ended.returncode, 1, ended.stdout)
            self.assertFalse(out.exists())
            return ended.stderr

    def test_an_unknown_target(self):
        self.assertIn("is not a known target", self.refused(target="sparc-sun-solaris"))

    def test_a_binary_for_musl_that_needs_the_gnu_c_library(self):
        self.assertIn("needs the GNU C library", self.refused(target="x86_64-unknown-linux-musl"))

    def test_a_binary_that_cannot_write_its_pages(self):
        self.assertIn("no pages today", self.refused(text="#!/bin/sh\necho no pages today >&2\nexit 3\n"))
        self.assertIn("cannot run", self.refused(text="not a program"))


if __name__ == "__main__":
    unittest.main()
