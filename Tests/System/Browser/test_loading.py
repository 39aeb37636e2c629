"""The phone's page when the network or the browser lets it down at its start: it says so."""

import unittest

from browser import start_browser
from document_service import DocumentService

#: Another page keeps the storage open while it is to be deleted, so that nobody else can open it.
HOLD = """
  const opening = indexedDB.open("iampass /", 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore("accounts", { keyPath: "device" });
  window.held = await new Promise((resolve, reject) => {
    opening.onsuccess = () => resolve(opening.result);
    opening.onerror = () => reject(opening.error);
  });
  const deleting = indexedDB.deleteDatabase("iampass /");
  await new Promise((resolve) => { deleting.onblocked = resolve; });
"""


class Loading(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = DocumentService()
        cls.addClassCleanup(cls.service.close)
        cls.browser = start_browser(cls.service.authority.file)
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        self.addCleanup(self.browser.forget, self.service)
        self.addCleanup(self.service.missing.clear)

    def open(self):
        self.browser.open(self.service.address + "/register/" + "0" * 32)

    def test_a_page_whose_scripts_do_not_arrive_says_so(self):
        self.service.missing.add("requests.js")
        self.open()
        self.browser.sees("#unloaded", "not loaded whole. Load it again.")
        self.service.missing.clear()
        self.open()
        self.browser.sees("#register")
        self.assertEqual(self.browser.all("#unloaded"), [])

    def test_a_page_whose_storage_does_not_answer_says_so(self):
        driver = self.browser.driver
        self.browser.open(self.service.address + "/phone/phone.css")
        first = driver.current_window_handle
        self.browser.script(HOLD)
        driver.switch_to.new_window("tab")
        self.addCleanup(driver.switch_to.window, first)
        self.addCleanup(driver.close)
        self.open()
        self.browser.sees("#problem", "storage does not answer. Close its other pages")
        driver.switch_to.window(first)
        self.browser.script("window.held.close();")
        driver.switch_to.window(driver.window_handles[-1])
        self.open()
        self.browser.sees("#register")
        self.browser.misses("#problem")


if __name__ == "__main__":
    unittest.main()
