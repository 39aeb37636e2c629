"""What was compiled serves the next clone, other people's packages and for tests our own: packaging/swift-build, on a small
package."""

import hashlib
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[3]
#: Seconds for a build of a few lines on a busy machine.
PATIENCE = 300

THEIRS = """// swift-tools-version: 6.0
import PackageDescription
let package = Package(name: "theirs", products: [.library(name: "Theirs", targets: ["Theirs"])], targets: [.target(name: "Theirs")])
"""
OURS = """// swift-tools-version: 6.0
import PackageDescription
let package = Package(
  name: "ours",
  dependencies: [
    .package(url: "{url}", exact: "{version}"),
  ],
  targets: [
    .target(name: "plain"),
    .executableTarget(
      name: "our-own", dependencies: ["plain", .product(name: "Theirs", package: "theirs")]),
    .testTarget(name: "OurTests"),
  ])
"""
OUR_TEST = "import XCTest\nfinal class Our_{name}: XCTestCase {{ func test_{name}() {{}} }}\n"


class KeptBuilds(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.theirs = cls.folder / "theirs"
        cls.write(cls.theirs / "Package.swift", THEIRS)
        cls.git("init", "--quiet")
        for version in ("1.0.0", "1.1.0"):
            cls.write(cls.theirs / "Sources/Theirs/Theirs.swift", f'public let theirs = "{version}"\n')
            cls.git("add", ".")
            cls.git("commit", "--quiet", "-m", version)
            cls.git("tag", version)
        cls.clone("first")
        cls.build("first")

    @classmethod
    def git(cls, *words):
        who = ("-c", "user.name=a", "-c", "user.email=a@localhost")
        subprocess.run(["git", "-C", cls.theirs, *who, *words], check=True, capture_output=True, timeout=60)

    @staticmethod
    def write(path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    @classmethod
    def clone(cls, name, version="1.0.0", says="theirs"):
        cls.write(cls.folder / name / "Package.swift", OURS.format(url=cls.theirs.as_uri(), version=version))
        cls.write(cls.folder / name / "Sources/our-own/main.swift", f"import Theirs\nprint({says})\n")
        cls.write(cls.folder / name / "Tests/OurTests/OurTests.swift", OUR_TEST.format(name="first"))
        cls.write(cls.folder / name / "Sources/plain/plain.c", "int plain;\n")
        cls.write(cls.folder / name / "Sources/plain/include/plain.h", "extern int plain;\n")
        for file in ("common.sh", "swift-build"):
            (cls.folder / name / "packaging").mkdir(exist_ok=True)
            shutil.copy(PROJECT / "packaging" / file, cls.folder / name / "packaging" / file)

    @classmethod
    def build(cls, name, *words, keep="--keep", **more):
        """What was said. `words`: further ones for SwiftPM. `more`: environment variables."""
        clone = cls.folder / name
        done = subprocess.run(
            [clone / "packaging/swift-build", keep, clone / ".build-product", "-c", "debug", *words],
            capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL,
            env={**os.environ, "IAMPASS_CACHE": str(cls.folder / "cache"), **more})  # fmt: skip
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)
        return done.stderr

    def says(self, name):
        program = self.folder / name / ".build-product/debug/our-own"
        return subprocess.run([program], capture_output=True, text=True, timeout=60, check=True).stdout.strip()

    def inode(self, name, module):
        file = "main" if module == "our_own" else module
        return (self.folder / name / f".build-product/x86_64-unknown-linux-gnu/debug/{module}.build/{file}.swift.o").stat().st_ino

    def kept(self):
        return [path for path in (self.folder / "cache/compiled").iterdir() if path.is_dir() and path.suffix != ".own"]

    def test_another_clone_compiles_its_own_code_alone(self):
        self.clone("second", says='"mine: " + theirs')
        self.build("second")
        self.assertEqual(self.says("second"), "mine: 1.0.0")
        self.assertEqual(self.inode("second", "Theirs"), self.inode("first", "Theirs"))
        self.assertNotEqual(self.inode("second", "our_own"), self.inode("first", "our_own"))

    def test_a_debug_build_has_no_debug_information(self):
        program = self.folder / "first/.build-product/debug/our-own"
        # The name of its section.
        self.assertNotIn(b".debug_info", program.read_bytes())

    def test_nothing_of_the_projects_own_is_kept(self):
        for kept in self.kept():
            self.assertTrue(list(kept.glob("*/debug/Theirs.build")))
            for name in ("our_own", "plain"):
                self.assertFalse(list(kept.glob(f"*/debug/{name}.build")) + list(kept.glob(f"*/debug/Modules/{name}.*")))

    def test_another_version_is_compiled(self):
        self.clone("newer", version="1.1.0")
        self.build("newer")
        self.assertEqual(self.says("newer"), "1.1.0")
        self.assertNotEqual(self.inode("newer", "Theirs"), self.inode("first", "Theirs"))

    def test_what_a_clone_fetches_and_compiles_later_changes_nothing_that_is_kept(self):
        self.clone("looks")
        self.build("looks")
        # As SwiftPM and git write for the package that Tests/System/Libraries builds in the same folder.
        self.git("commit", "--quiet", "--allow-empty", "-m", "later")
        self.git("tag", "1.2.0")
        self.clone("looks", version="1.2.0")
        self.build("looks")
        self.clone("after_it")
        self.assertNotIn("what was kept has changed", self.build("after_it"))
        self.assertEqual(self.inode("after_it", "Theirs"), self.inode("first", "Theirs"))

    def test_another_test_changes_nothing_that_is_kept(self):
        """SwiftPM lists all tests in files that it writes in place."""
        for number, name in enumerate(("lists", "lists_too")):
            self.clone(name)
            self.build(name, "--build-tests")
            test = OUR_TEST.format(name=f"second_{number}")
            self.write(self.folder / name / "Tests/OurTests/OtherTests.swift", test)
            self.assertNotIn("what was kept has changed", self.build(name, "--build-tests"))

    def break_kept(self, pattern):
        for kept in self.kept():
            for path in kept.glob(pattern):
                path.unlink()
                path.write_text("not what a compiler writes")

    def test_what_has_changed_since_it_was_kept_is_not_used(self):
        for number, pattern in enumerate(("*/debug/Theirs.build/*.o", "*/debug/Modules/Theirs.swiftmodule",
                                          "checkouts/theirs/Sources/Theirs/*.swift")):
            with self.subTest(pattern):
                self.clone(f"before{number}", version="1.1.0")
                self.build(f"before{number}")
                self.break_kept(pattern)
                self.clone(f"after{number}", version="1.1.0")
                self.assertIn("what was kept has changed", self.build(f"after{number}"))
                self.assertEqual(self.says(f"after{number}"), "1.1.0")

    def test_what_is_changed_in_place_is_told_and_replaced(self):
        self.clone("writes", version="1.1.0")
        self.build("writes")
        for path in (self.folder / "writes").glob(".build-product/*/debug/Theirs.build/*.o"):
            os.utime(path)
        self.assertIn("what was kept has changed", self.build("writes"))
        for name in ("next", "last"):
            self.clone(name, version="1.1.0")
            self.assertNotIn("what was kept has changed", self.build(name))
            self.assertEqual(self.says(name), "1.1.0")
        self.assertNotEqual(self.inode("next", "Theirs"), self.inode("writes", "Theirs"))
        self.assertEqual(self.inode("last", "Theirs"), self.inode("next", "Theirs"))

    def objects(self, name):
        """When each object of our own was compiled."""
        made = self.folder / name / ".build-product/x86_64-unknown-linux-gnu/debug"
        return [(made / path).stat().st_mtime_ns for path in ("our_own.build/main.swift.o", "plain.build/plain.c.o")]

    def cloned_again(self, name, says):
        """A clone in the same place, after a build there that was kept."""
        self.clone(name, says='"old: " + theirs')
        self.build(name, keep="--keep-own")
        before = self.objects(name)
        shutil.rmtree(self.folder / name)
        self.clone(name, says=says)
        return before

    def test_a_clone_in_the_same_place_compiles_none_of_its_own_code_that_is_the_same(self):
        before = self.cloned_again("own", says='"old: " + theirs')
        self.build("own", keep="--keep-own")
        self.assertEqual(self.objects("own"), before)
        self.assertEqual(self.says("own"), "old: 1.0.0")

    def test_every_build_of_a_new_clone_gives_the_sources_their_times_before_it_compiles(self):
        self.cloned_again("given", says='"old: " + theirs')
        self.build("given")
        sources = [self.folder / "given/Sources" / name for name in ("our-own/main.swift", "plain/plain.c")]
        times = [path.stat().st_ctime_ns for path in sources]
        shutil.rmtree(self.folder / "given/.build-product")
        self.build("given", keep="--keep-own")
        self.assertEqual([path.stat().st_ctime_ns for path in sources], times)

    def test_own_code_that_has_changed_is_compiled_though_its_time_and_size_are_the_same(self):
        before = self.cloned_again("times", says='"new: " + theirs')
        name = hashlib.sha256(str(self.folder / "times").encode()).hexdigest()[:32]
        kept = self.folder / f"cache/compiled/{name}.own/sources"
        for line in kept.read_text().splitlines():
            _, moment, path = line.split()
            seconds, _, rest = moment.removeprefix("@").partition(".")
            os.utime(self.folder / "times" / path, ns=(int(seconds + rest),) * 2)
        self.build("times", keep="--keep-own")
        self.assertEqual(self.says("times"), "new: 1.0.0")
        after = self.objects("times")
        self.assertNotEqual(after[0], before[0])
        self.assertEqual(after[1], before[1])

    def test_times_do_not_go_back_where_something_is_built(self):
        before = self.cloned_again("built", says='"old: " + theirs')
        self.write(self.folder / "built/.build-tests/build.db", "")
        header = self.folder / "built/Sources/plain/include/plain.h"
        time = header.stat().st_mtime_ns
        self.build("built", keep="--keep-own")
        self.assertEqual(header.stat().st_mtime_ns, time)
        after = self.objects("built")
        self.assertTrue(after[0] != before[0] and after[1] != before[1])

    def test_a_header_that_has_changed_is_newer_than_the_build_that_is_kept(self):
        before = self.cloned_again("older", says='"old: " + theirs')
        header = self.folder / "older/Sources/plain/include/plain.h"
        self.write(header, "extern int plain, more;\n")
        os.utime(header, (1_000_000_000,) * 2)
        self.build("older", keep="--keep-own")
        self.assertGreater(header.stat().st_mtime_ns, max(before))

    def test_what_is_shipped_takes_none_of_its_own_code_that_is_kept(self):
        before = self.cloned_again("ships", says='"old: " + theirs')
        self.build("ships")
        after = self.objects("ships")
        self.assertTrue(after[0] != before[0] and after[1] != before[1])

    def test_a_clone_elsewhere_compiles_its_own_code(self):
        before = self.cloned_again("here", says='"old: " + theirs')
        self.clone("there", says='"old: " + theirs')
        self.build("there", keep="--keep-own")
        after = self.objects("there")
        self.assertTrue(after[0] != before[0] and after[1] != before[1])

    def test_own_code_is_kept_of_two_places_at_most(self):
        for name in ("one", "two", "three"):
            self.clone(name)
            self.build(name, keep="--keep-own")
        self.assertEqual(len(list((self.folder / "cache/compiled").glob("*.own"))), 2)

    def test_a_download_that_fails_once_does_not_fail_the_build(self):
        programs, failed = self.folder / "programs", self.folder / "failed"
        # SwiftPM may go round its own cache if that cannot be filled, and then fetches a second time at once.
        git = f"""#!/bin/sh
case " $* " in *" clone "*) [ "$(wc -l <{failed})" -ge 2 ] || {{ echo failed >>{failed}; exit 1; }} ;; esac
exec {shutil.which("git")} "$@"
"""
        for name, text in (("git", git), ("sleep", "#!/bin/sh\n")):
            self.write(programs / name, text)
            (programs / name).chmod(0o755)
        failed.touch()
        self.clone("far_away")
        said = self.build("far_away", IAMPASS_FROM_NOTHING="1", PATH=f"{programs}:{os.environ['PATH']}")
        self.assertIn("fetch_packages failed, once more in 10 seconds", said)
        self.assertEqual((self.says("far_away"), failed.read_text()), ("1.0.0", "failed\n" * 2))

    def test_from_nothing_takes_nothing_that_is_kept(self):
        self.clone("fresh")
        self.build("fresh", IAMPASS_FROM_NOTHING="1")
        self.assertEqual(self.says("fresh"), "1.0.0")
        self.assertNotEqual(self.inode("fresh", "Theirs"), self.inode("first", "Theirs"))

    def test_a_cache_on_another_file_system_keeps_nothing_and_fails_nothing(self):
        with tempfile.TemporaryDirectory(dir="/dev/shm") as elsewhere:
            for name in ("far", "farther"):
                self.clone(name)
                self.build(name, IAMPASS_CACHE=elsewhere)
                self.assertEqual(self.says(name), "1.0.0")
            self.assertEqual(list((pathlib.Path(elsewhere) / "compiled").iterdir()), [])

    def test_a_second_build_compiles_nothing(self):
        self.clone("again")
        self.build("again")
        before = [self.inode("again", module) for module in ("our_own", "Theirs")]
        self.build("again")
        self.assertEqual([self.inode("again", module) for module in ("our_own", "Theirs")], before)


if __name__ == "__main__":
    unittest.main()
