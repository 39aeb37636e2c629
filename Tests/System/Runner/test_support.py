"""Tests/Support is one package: an import of it says where the module is."""

import ast
import pathlib
import tempfile
import unittest

from Support.Runner.plan import TESTS

SUPPORT = TESTS / "Support"


def imports(path):
    """(Line, name) of each module that a file imports; the name of a relative one is empty."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, one.name) for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, "" if node.level else node.module


def complaints(tests, path):
    """Imports of a file that find a module of Support by the place of a program alone, or not at all."""
    shared = {one.stem for one in tests.glob("Support/*/*.py")}
    for line, name in imports(path):
        beside = not path.is_relative_to(tests / "Support") and (path.parent / f"{name}.py").exists()
        place = tests / name.replace(".", "/")
        if not name or (name in shared and not beside):
            yield f"{path.relative_to(tests)}:{line}: {name or 'a module'} is imported without its whole name"
        elif name.startswith("Support.") and not place.with_suffix(".py").exists() and not (place / "__init__.py").exists():
            yield f"{path.relative_to(tests)}:{line}: there is no {name}"


class Support(unittest.TestCase):
    def test_its_modules_are_imported_by_their_whole_names(self):
        files = [path for folder in ("Support", "System", "Benchmarks") for path in TESTS.glob(f"{folder}/**/*.py")]
        self.assertEqual([one for path in sorted(files) for one in complaints(TESTS, path)], [])

    def test_no_two_of_its_modules_have_one_name(self):
        names = [path.stem for path in SUPPORT.glob("*/*.py") if path.stem != "__init__"]
        self.assertEqual(sorted(name for name in set(names) if names.count(name) > 1), [])

    def test_what_is_wrong_is_found(self):
        tests = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        for name in ("Support/Service/world.py", "Support/Service/__init__.py", "System/Own/world.py"):
            (tests / name).parent.mkdir(parents=True, exist_ok=True)
            (tests / name).write_text("")
        for name, text, wrong in (
            ("System/A/a.py", "from world import run\n", 1), ("System/A/b.py", "def f():\n    import world as w\n", 1),
            ("System/A/c.py", "from Support.Service.word import run\n", 1), ("Support/Service/d.py", "import world\n", 1),
            ("Support/Service/e.py", "from . import world\n", 1), ("System/Own/f.py", "from world import run\n", 0),
            ("System/A/g.py", "import os\nfrom Support.Service import world\nfrom Support.Service.world import run\n", 0),
        ):  # fmt: skip
            with self.subTest(text):
                (tests / name).parent.mkdir(parents=True, exist_ok=True)
                (tests / name).write_text(text)
                self.assertEqual(len(list(complaints(tests, tests / name))), wrong)


if __name__ == "__main__":
    unittest.main()
