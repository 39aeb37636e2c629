"""The console's pages of an application: its groups, credentials, settings and notifications."""

import os
import re
import unittest

from console_case import NASTY, ConsoleCase, open_console, server
from Support.Service import app_keys
from Support.Service.never import assert_hidden


def setUpModule():
    global world, browser
    world, browser = open_console()


class Applications(ConsoleCase):
    def test_groups_and_their_users(self):
        long = "g2" * 32
        for name, groups in (("gina", ("lab", "night-shift")), ("gerd", ("lab", long))):
            server("user", "add", "office", name, "--no-link", *(f"--group={one}" for one in groups))
        self.addCleanup(server, "user", "remove", "office", "gina", "gerd")
        self.open_office()
        self.follow("Groups of these users")
        self.on("Groups")
        self.assertEqual(browser.each("tbody th"), [long, "lab", "night-shift"])
        self.looks_well("groups")
        browser.type("input[name=q]", "NIGHT")
        self.press("Search")
        browser.until(lambda: browser.each("tbody th") == ["night-shift"], "the group that was searched for")
        self.assertIn("1", browser.each("td[data-name=Users]")[0])
        self.follow("All")
        browser.tap("a", "lab")
        self.on("Group lab")
        self.assertEqual([one.split()[0] for one in browser.each("tbody th")], ["gerd", "gina"])
        self.looks_well("group")
        self.follow("gina")
        self.on("User gina")
        self.looks_well("user-of-groups")
        self.follow("night-shift")
        self.on("Group night-shift")
        self.follow("All groups")
        self.on("Groups")

    def test_an_application_is_added_disabled_and_enabled(self):
        browser.open(world.address + "/console/applications")
        self.fill("name", NASTY)
        self.press("Add")
        self.on("New application " + NASTY)
        credentials = browser.says("#lines")
        found = re.search(r"application_id = (\S+)\napplication_secret = (\S+)", credentials)
        self.looks_well("new-application")
        made = found.groups()
        self.assertEqual(world.ask("POST", f"/management/add_users/{made[0]}", {"users": ["x"]}, made)["status"], True)
        self.follow("Done")
        self.on(NASTY)
        self.unfold("New secret")
        self.press("Make a new secret")
        self.on("New secret")
        self.assertNotIn(made[1], browser.text())
        self.follow("Done")
        self.unfold("Disable")
        self.press("Disable")
        self.notice("cannot sign anyone in")
        self.press("Enable")
        self.notice("enabled again")

    def test_a_name_that_is_taken_is_said(self):
        browser.open(world.address + "/console/applications")
        self.fill("name", "office")
        self.press("Add")
        browser.sees(".problem[role=alert]", "with this name already exists")

    def test_host_credentials(self):
        self.open_office()
        self.unfold("Add a host credential")
        self.fill("host", "laptop-7")
        browser.sees("form[action$=credentials] input[name=name]").send_keys("laptop 7")
        self.press("Make the credential")
        self.on("New credential for laptop-7")
        self.looks_well("new-credential")
        self.follow("Done")
        self.unfold("Rename")
        browser.type("form[action$=rename] input[name=name]", "Ada's laptop")
        browser.tap("form[action$=rename] button")
        self.notice("new name")
        browser.sees("td, th", "Ada's laptop")
        self.unfold("Revoke")
        self.press("Revoke Ada's laptop")
        self.notice("revoked")

    def test_settings(self):
        self.open_office()
        browser.tap("input[name=walkaway]")
        self.fill("answer_time", "45")
        self.fill("hook", world.path("programs", "none"))
        self.press("Store the settings")
        browser.sees(".problem", "finds no program")
        browser.tap("input[name=walkaway]")
        browser.tap("input[name=face]")
        self.fill("answer_time", "45")
        self.fill("hook", world.path("programs", "send"))
        self.press("Store the settings")
        self.notice("stored")
        self.assertEqual(browser.sees("input[name=answer_time]").get_attribute("value"), "45")
        self.assertFalse(browser.sees("input[name=walkaway]").is_selected())
        self.assertTrue(browser.sees("input[name=face]").is_selected())
        self.assertEqual(browser.sees("input[name=hook]").get_attribute("value"), world.path("programs", "send"))
        browser.tap("input[name=walkaway]")
        self.fill("answer_time", "60")
        self.fill("hook", "")
        self.press("Store the settings")
        self.notice("stored")
        self.looks_well("application")

    def test_notifications_are_set_shown_and_removed(self):
        keys = app_keys.AppKeys(world.path("app-keys"))
        self.open_office()
        browser.sees("#notifications", "Notifications for apps of your own")
        for topic in ("a b", app_keys.TOPIC):
            self.unfold("Ring through Apple, by a token key")
            self.fill("topic", topic)
            self.fill("key_id", app_keys.KEY_ID)
            self.fill("team_id", app_keys.TEAM_ID)
            browser.type("textarea[name=key]", keys.read("AuthKey.p8"))
            browser.tap("details[open] button", "Store")
            if topic == "a b":
                browser.sees(".problem", "the topic is invalid")
        self.notice("stored")
        self.unfold("Ring through Google")
        browser.type("textarea[name=account]", keys.read(os.path.basename(keys.account())))
        browser.tap("details[open] button", "Store")
        self.notice("stored")
        browser.sees("code", f"apple topic={app_keys.TOPIC} production key={app_keys.KEY_ID}")
        browser.sees("code", f"google project={app_keys.PROJECT} account={app_keys.ACCOUNT}")
        for secret in keys.secrets():
            assert_hidden(secret, browser.driver.page_source)
        self.looks_well("notifications")
        for name in ("Apple", "Google"):
            self.unfold("Remove")
            self.press("Remove " + name)
            self.notice("removed")
        browser.sees("section", "No app is rung.")
        told = server("audit")
        self.assertIn("notifications removed", told)

    def test_long_names_fit(self):
        # Ordinary words are to stay whole. A word that is longer than a line is broken, so that the page fits.
        long = "Northern branch " + "r2d2" * 21
        browser.open(world.address + "/console/applications")
        self.fill("name", long)
        self.press("Add")
        self.looks_well("long-new-application")
        self.follow("Done")
        self.unfold("Add a host credential")
        self.fill("host", long)
        browser.sees("form[action$=credentials] input[name=name]").send_keys(long)
        self.press("Make the credential")
        self.looks_well("long-new-credential")
        made = world.database("SELECT id, secret FROM application WHERE name = ?", long)[0]
        world.ask("POST", f"/management/add_users/{made[0]}", {"users": ["0123456789abcdef" * 10]}, made)
        self.follow("Done")
        self.looks_well("long-application")
        self.unfold("Revoke")
        self.looks_well("long-revoke")
        self.follow("without a name")
        self.on("User without a name (01234567…)")
        self.fill("display_name", long)
        self.press("Make a registration link")
        self.looks_well("long-link")
        self.follow("Done")
        self.on(f"User {long} (01234567…)")
        self.unfold("Delete this user")
        self.looks_well("long-user")


if __name__ == "__main__":
    unittest.main()
