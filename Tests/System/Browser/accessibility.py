"""What axe-core, other people's judge of pages, finds wrong with one: for who hears it, sees little, or has no mouse."""

import functools
import pathlib

from Support.Service import pypi

# The one package with a present axe-core. Its program is read; Playwright, which it would bring, is not.
PACKAGE = "axe-playwright-python"
# WCAG 2.2 at the levels A and AA, and what axe-core advises beyond it.
RUN = """
  const found = await window.axe.run(document, {
    runOnly: { type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] },
    resultTypes: ["violations"], preload: false,
  });
  return found.violations.flatMap(({ id, help, nodes }) => nodes.map(({ html }) => `${id}: ${help}: ${html.slice(0, 200)}`));
"""


@functools.cache
def program():
    folder = pypi.lone_package("axe-venv", PACKAGE)
    return pathlib.Path(folder, "axe_playwright_python", "axe.min.js").read_text()


def complaints(browser):
    """What is wrong with the page as it is, a line each."""
    def look():
        own = "" if browser.script("return typeof window.axe === 'object'") else program()
        # Another page may have come meanwhile, without it.
        found = browser.script(f"{own}\nif (!window.axe) return null; {RUN}")
        return None if found is None else [found]

    return browser.until(look, "a page that stays")[0]
