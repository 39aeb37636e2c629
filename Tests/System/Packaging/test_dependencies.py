"""What is built from is known: packaging/dependencies on packages of its own, and on the built programs."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[3]
BUILT = pathlib.Path(os.environ.get("IAMPASS_BIN", PROJECT / ".build-product" / "release")).resolve()
PATIENCE = 300


class Project(unittest.TestCase):
    """A project with two fetched packages, which its list knows."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="iampass-dependencies-"))
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "packaging").mkdir()
        shutil.copy(PROJECT / "packaging" / "dependencies", self.folder / "packaging")
        self.state = {"one": "1.2.3", "two": "0.1.0"}
        for name in self.state:
            self.write(name, "Sources/file.swift", f"// {name}\n")
            # What git keeps is another in each copy.
            self.write(name, ".git/HEAD", os.urandom(8).hex())
        self.write_state()
        self.assertEqual(self.run_it("renew").returncode, 0)

    def path(self, name, inside=""):
        return self.folder / ".build-product" / "checkouts" / name / inside

    def write(self, name, inside, text):
        self.path(name, inside).parent.mkdir(parents=True, exist_ok=True)
        self.path(name, inside).write_text(text)

    def write_state(self, kind="sourceControlCheckout"):
        entries = [
            {"subpath": name, "packageRef": {"location": f"https://example.org/{name}.git"},
             "state": {"name": kind, "checkoutState": {"version": version, "revision": "0" * 40}}}
            for name, version in self.state.items()]  # fmt: skip
        (self.folder / ".build-product" / "workspace-state.json").write_text(json.dumps({"object": {"dependencies": entries}}))

    def run_it(self, *words):
        return subprocess.run(
            [self.folder / "packaging" / "dependencies", *words], capture_output=True, text=True, timeout=PATIENCE)

    def assert_refused(self, text):
        done = self.run_it("check")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(f"dependencies: {text} (packaging/dependencies.txt)\n", done.stderr)
        self.assertIn("packaging/dependencies renew", done.stderr)


class Manifest(unittest.TestCase):
    def test_each_package_of_the_list_has_its_version_and_no_other(self):
        asked = re.findall(r'\.package\(url: "[^"]*/([^"/]+)", (\w+: "[^"]+")', (PROJECT / "Package.swift").read_text())
        listed = [line.split() for line in (PROJECT / "packaging" / "dependencies.txt").read_text().splitlines()]
        self.assertEqual(sorted(asked), sorted((line[0], f'exact: "{line[1]}"') for line in listed if line[0] != "#"))


class Check(Project):
    def test_what_is_listed_is_taken_from_any_copy(self):
        shutil.rmtree(self.path("one", ".git"))
        self.assertEqual(self.run_it("check").returncode, 0)

    def test_another_tree_is_refused(self):
        changes = {
            "a byte": lambda: self.write("one", "Sources/file.swift", "// One\n"),
            "a file more": lambda: self.write("one", "Sources/more.swift", ""),
            "a file less": self.path("one", "Sources/file.swift").unlink,
            "a mode": lambda: self.path("one", "Sources/file.swift").chmod(0o755),
            "a link": lambda: self.path("one", "Sources/link.swift").symlink_to("file.swift"),
            "another name": lambda: self.path("one", "Sources").rename(self.path("one", "Source")),
        }
        for name, change in changes.items():
            with self.subTest(name):
                shutil.rmtree(self.path("one"))
                self.write("one", "Sources/file.swift", "// one\n")
                self.assertEqual(self.run_it("check").returncode, 0)
                change()
                self.assert_refused("one 1.2.3 has another tree than in the list")

    def test_another_version_is_refused(self):
        self.state["two"] = "0.1.1"
        self.write_state()
        self.assert_refused("two is 0.1.1, and 0.1.0 in the list")

    def test_a_package_that_is_being_edited_is_refused(self):
        self.write_state("edited")
        self.assert_refused("one is no-version, and 1.2.3 in the list")

    def test_a_package_that_is_not_listed_is_refused(self):
        self.state["three"] = "3.0.0"
        self.write("three", "Package.swift", "")
        self.write_state()
        self.assert_refused("three 3.0.0 is not in the list")

    def test_a_package_that_swiftpm_does_not_know_is_refused(self):
        self.write("stray", "Package.swift", "")
        self.assert_refused("stray unknown is not in the list")

    def test_a_listed_package_that_is_not_there_is_refused(self):
        shutil.rmtree(self.path("two"))
        del self.state["two"]
        self.write_state()
        self.assert_refused("two 0.1.0 is in the list, and not among the packages")

    def test_nothing_fetched_is_refused(self):
        shutil.rmtree(self.folder / ".build-product")
        done = self.run_it("check")
        self.assertEqual(done.returncode, 1)
        self.assertIn("hint: packaging/build-product", done.stderr)

    def test_a_renewed_list_has_what_is_there(self):
        self.write("one", "Sources/file.swift", "// new\n")
        self.assertEqual(self.run_it("renew").returncode, 0)
        self.assertEqual(self.run_it("check").returncode, 0)


class Packages(unittest.TestCase):
    def test_what_differs_is_not_packed(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder)
            names = subprocess.run(
                ["git", "-C", PROJECT, "ls-files", "-z"], capture_output=True, check=True).stdout  # fmt: skip
            archive = subprocess.run(
                ["tar", "--create", "--null", "--ignore-failed-read", "--files-from=-"], input=names, cwd=PROJECT,
                capture_output=True, check=True).stdout  # fmt: skip
            subprocess.run(["tar", "--extract"], input=archive, cwd=copy, check=True)
            known = copy / "packaging" / "dependencies.txt"
            known.write_text(known.read_text().replace("swift-log ", "swift-log 0.", 1))
            done = subprocess.run(
                [copy / "packaging" / "build-deb", "--built", BUILT, "--uncompressed", "--out", copy / "debs"],
                capture_output=True, text=True, timeout=PATIENCE)  # fmt: skip
            self.assertNotEqual(done.returncode, 0)
            self.assertRegex(done.stderr, r"dependencies: swift-log is (\S+), and 0\.\1 in the list")
            self.assertFalse(list(copy.glob("debs/*.deb")))


class Lists(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="iampass-spdx-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        environment = {**os.environ, "SOURCE_DATE_EPOCH": "1000000000"}
        subprocess.run(
            [PROJECT / "packaging" / "dependencies", "spdx", BUILT, cls.folder, "9.9"], check=True, env=environment)

    def document(self, package):
        return json.loads((pathlib.Path(self.folder) / f"{package}.spdx.json").read_text())

    def linked_into(self, package, program):
        """Names of what one program has inside."""
        document = self.document(package)
        names = {entry["SPDXID"]: entry["name"] for entry in document["packages"]}
        return {
            names[relation["relatedSpdxElement"]] for relation in document["relationships"]
            if relation["relationshipType"] == "STATIC_LINK" and names[relation["spdxElementId"]] == f"{program} (program)"
        }  # fmt: skip

    def test_the_services_list_has_what_the_service_is_made_of(self):
        self.assertLessEqual(
            {"hummingbird", "swift-nio", "swift-nio-ssl", "GRDB.swift", "swift-argument-parser"},
            self.linked_into("iampass-server", "iampass-server"))

    def test_what_packages_have_taken_in_is_listed(self):
        names = {entry["name"] for entry in self.document("iampass-server")["packages"]}
        self.assertLessEqual({"BoringSSL", "llhttp", "Huffman tables of nghttp2"}, names)

    def test_what_a_login_loads_has_no_package_inside(self):
        listed = {line.split()[0] for line in (PROJECT / "packaging" / "dependencies.txt").read_text().splitlines()}
        for program in ("pam_iampass", "iampass-https", "iampass-helper"):
            self.assertEqual(self.linked_into("libpam-iampass", program) & listed, set(), program)
        self.assertEqual(self.linked_into("libpam-iampass", "iampassctl") & listed, {"swift-argument-parser"})

    def test_each_entry_says_version_and_licence(self):
        for entry in self.document("iampass-server")["packages"]:
            self.assertNotIn(entry["licenseConcluded"], ("", "NOASSERTION"), entry["name"])
        log = next(entry for entry in self.document("iampass-server")["packages"] if entry["name"] == "swift-log")
        self.assertEqual(log["externalRefs"][0]["referenceLocator"], f"pkg:swift/github.com/apple/swift-log@{log['versionInfo']}")

    def test_the_time_is_the_one_of_the_build(self):
        self.assertEqual(self.document("iampass-phone")["creationInfo"]["created"], "2001-09-09T01:46:40Z")


if __name__ == "__main__":
    unittest.main()
