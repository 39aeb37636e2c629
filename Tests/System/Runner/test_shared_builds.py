"""Several kinds of debug builds share a folder, for other people's code: `take_scratch` of packaging/common.sh."""

import pathlib
import subprocess
import tempfile
import unittest

from Support.Runner.plan import PROJECT

#: The longest wait, in seconds.
PATIENCE = 60


class SharedBuilds(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="iampass-shared-build-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def built(self, module, source):
        """SwiftPM's folder of a module that was built from this source."""
        folder = self.folder / "x86_64-unknown-linux-gnu/debug" / f"{module}.build"
        folder.mkdir(parents=True)
        (folder / "output-file-map.json").write_text(f'{{"{source}": {{"object": "one.o"}}}}')
        return folder

    def take(self, kind):
        words = 'source "$1/packaging/common.sh"; take_scratch "$2" "$3"'
        subprocess.run(["bash", "-euc", words, "bash", PROJECT, self.folder, kind], check=True, timeout=PATIENCE)

    def test_only_our_own_modules_of_another_kind_are_built_again(self):
        own = self.built("HostState", f"{PROJECT}/Sources/Computer/HostState/Configuration.swift")
        test = self.built("HostStateTests", f"{PROJECT}/Tests/Unit/HostStateTests/RulesTests.swift")
        others = self.built("NIO", f"{self.folder}/checkouts/swift-nio/Sources/NIO/Channel.swift")
        # Nobody knows what built it.
        self.take("tests")
        self.assertEqual([one.exists() for one in (own, test, others)], [False, False, True])
        own = self.built("HostState", f"{PROJECT}/Sources/Computer/HostState/Configuration.swift")
        self.take("tests")
        self.assertTrue(own.exists())
        self.take("fuzz")
        self.assertEqual([own.exists(), others.exists()], [False, True])


if __name__ == "__main__":
    unittest.main()
