"""The administrator's console in a real browser: without script, at each size, light and dark."""

import json
import os
import re
import subprocess
import unittest
import urllib.parse

from accessibility import complaints
from browser import start_browser
from browser_world import PROGRAMS, BrowserWorld, run
from Support.Service import app_keys
from Support.Service.never import assert_hidden
from test_looks import AUDIT

NASTY = "Büro <b>& 'Söhne'</b>"


def setUpModule():
    global world, browser
    world = BrowserWorld()
    unittest.addModuleCleanup(world.close)
    browser = start_browser(world.authority.file)
    unittest.addModuleCleanup(browser.close)


def server(*words):
    return run(os.path.join(PROGRAMS, "iampass-server"), *words, "--data", world.path("data"))


class Console(unittest.TestCase):
    def setUp(self):
        browser.open(server("console-link").strip())
        self.press("Sign in")
        self.on("Overview")

    def tearDown(self):
        # Whatever was shown, nothing of it ran, and nothing came from elsewhere.
        self.assertEqual([one.get_attribute("src") for one in browser.all("script")], [world.address + "/console/times.js"])
        self.assertEqual(browser.violations(), [])

    def on(self, title):
        browser.sees("h1", title)

    def press(self, text):
        browser.tap("button", text)

    def unfold(self, text):
        browser.tap("summary", text)

    def follow(self, text):
        browser.tap("a", text)

    def fill(self, name, text):
        browser.type(f"input[name={name}]", text)

    def notice(self, text):
        browser.sees(".notice[role=status]", text)

    def looks_well(self, name):
        self.assertEqual(browser.screenshot("console-" + name, words=True), [])
        for dark in (False, True):
            browser.dark(dark)
            self.assertEqual(browser.script(AUDIT), [], f"{name}, dark: {dark}")
            self.assertEqual(complaints(browser), [], f"{name}, dark: {dark}")
        browser.dark(False)

    def open_office(self):
        browser.open(world.address + "/console/applications")
        self.follow("office")
        self.on("office")

    def open_user(self, name):
        """The page of a user, whom the list names."""
        self.open_office()
        self.follow(name)
        self.on("User")

    def registered(self, user, name):
        """A user with a phone, which is a command."""
        state = world.path(user + ".json")
        phone = os.path.join(PROGRAMS, "iampass-phone")
        run(phone, "register", world.link(user, name), "--state", state, "--ca", world.authority.file)
        return phone, state

    def approved(self, user, name, **context):
        phone, state = self.registered(user, name)
        sign_in = world.sign_in(user, **context)
        code = ["--code", sign_in.code] if sign_in.code else []
        run(phone, "watch", "--state", state, "--answer", "approve", "--once", *code)
        sign_in.becomes("active")
        return sign_in

    def test_the_door(self):
        link = server("console-link").strip()
        browser.driver.delete_all_cookies()
        browser.open(world.address + "/console")
        browser.sees("button", "Ask my phone")
        self.looks_well("not-signed-in")
        browser.open(link)
        self.looks_well("door")
        self.press("Sign in")
        self.on("Overview")
        cookie = browser.driver.get_cookies()[0]
        self.assertTrue(cookie["httpOnly"] and cookie["secure"])
        self.assertEqual(cookie["sameSite"], "Strict")
        browser.open(link)
        self.on("This link does not work")
        browser.open(world.address + "/console")
        self.press("Sign out")
        self.on("Signed out")
        browser.open(world.address + "/console")
        browser.sees("button", "Ask my phone")

    def signed_in(self, name, role):
        """An administrator's browser; also what the page showed meanwhile."""
        link = server("administrator", "add", name, "--role", role).split()[-1]
        phone, state = os.path.join(PROGRAMS, "iampass-phone"), world.path(name + "-admin.json")
        run(phone, "register", link, "--state", state, "--ca", world.authority.file)
        browser.driver.delete_all_cookies()
        browser.open(world.address + "/console")
        self.fill("name", name)
        self.press("Ask my phone")
        self.on("Approve on your phone")
        digits = browser.says(".digits")
        if role == "admin":
            self.looks_well("waiting-for-phone")
        done = run(phone, "watch", "--state", state, "--answer", "approve", "--once", "--code", digits)
        self.on("Overview")
        browser.sees("header", f"{name}, {role}")
        return done

    def test_an_administrator_signs_in_by_phone(self):
        self.assertIn("console of localhost", self.signed_in("ada", "admin"))
        browser.open(world.address + "/console/administrators")
        browser.sees("th", "ada")
        self.looks_well("administrators")
        browser.type("input[name=name]", "gus")
        self.press("Add, and show a link")
        self.on("Register a phone")
        self.assertIn("administrator=ada", server("audit"))
        self.press("Sign out")
        self.on("Signed out")

    def test_the_front_page_and_the_computers(self):
        made = json.loads(server("host-credential", "create", "office", "desk-9", "--host", "desk-9", "--json"))
        self.addCleanup(server, "host-credential", "revoke", "office", "desk-9")
        self.assertIn("application_id", made)
        self.approved("ivy", "Ivy", host="desk-9")
        browser.open(world.address + "/console")
        self.assertTrue(browser.all("svg.chart desc"))
        browser.sees("#certificate")
        self.looks_well("overview")
        self.follow("Computers")
        browser.type("input[name=q]", "DESK-9")
        self.press("Search")
        browser.sees("th", "desk-9")
        self.looks_well("computers")

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

    def test_an_auditor_reads(self):
        self.signed_in("otto", "auditor")
        self.open_office()
        self.assertEqual(browser.all("main form[method=post]"), [])
        self.assertFalse(browser.sees("input[name=answer_time]").is_enabled())

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

    def test_a_link_is_shown_as_a_code_and_a_lost_phone_is_cut_off(self):
        world.ask("POST", f"/management/add_users/{world.application}", {"users": ["carol"]})
        self.open_user("carol")
        self.looks_well("user-without-phone")
        self.fill("display_name", "Carol")
        self.press("Make a registration link")
        self.on("Register a phone")
        self.looks_well("link")
        link = browser.says("#link").strip()
        self.assertEqual(self.scanned(), link)
        phone = os.path.join(PROGRAMS, "iampass-phone")
        state = world.path("carol.json")
        run(phone, "register", link, "--state", state, "--ca", world.authority.file)
        self.follow("Done")
        browser.sees("p", "The phone shows “Carol”")
        self.assertNotIn("looked at", browser.says("main"))
        # As the phone's page tells it.
        world.database("UPDATE phone SET looked_at = 1790000000000 WHERE display_name = 'Carol'")
        self.open_user("Carol")
        browser.sees("h1", "User Carol (carol)")
        browser.sees("p", "Its page was last looked at")
        self.unfold("Lost phone")
        self.press("Cut the phone off")
        self.on("Register a phone")
        done = subprocess.run([phone, "status", "--state", state], capture_output=True, text=True, timeout=60)
        self.assertNotEqual(done.returncode, 0)

    def scanned(self):
        """What a phone's camera sees."""
        browser.resize("desktop")
        picture = world.path("code.png")
        browser.driver.get_screenshot_as_file(picture)
        return run("zbarimg", "--quiet", "--raw", picture).strip()

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

    def test_sessions_are_listed_and_logged_out(self):
        sign_in = self.approved("dave", NASTY, host="<script>desk</script>", service="sshd", remote_host="192.0.2.7")
        browser.open(world.address + "/console/sessions")
        browser.sees("td", "<script>desk</script>")
        self.looks_well("sessions")
        self.press("Log out")
        self.notice("has ended")
        self.assertEqual(sign_in.becomes("closed"), "closed")
        self.open_user("dave")
        self.looks_well("user")
        self.unfold("Delete this user")
        self.press(f"Delete {NASTY} (dave)")
        self.notice("is deleted")

    def searches_days_of_this_time_zone(self):
        """The form's days are the browser's, and those of the next search of the same page."""
        browser.open(world.address + "/console/audit")
        self.assertEqual([text for text in browser.each("form.search label") if "UTC" in text], [])
        day, begin = browser.script("""
            const now = new Date(), two = (number) => String(number).padStart(2, "0");
            const day = [now.getFullYear(), two(now.getMonth() + 1), two(now.getDate())].join("-");
            for (const one of document.querySelectorAll("input[type=date]")) one.value = day;
            return [day, new Date(day + "T00:00").toISOString().slice(0, 19) + "Z"];
        """)
        self.press("Search")
        browser.until(lambda: browser.is_at("from_at="), "the day's beginning here")
        asked = urllib.parse.parse_qs(urllib.parse.urlsplit(browser.driver.current_url).query)
        self.assertEqual((asked["from"], asked["from_at"], asked["to"]), ([day], [begin], [day]))
        self.assertLess(begin, asked["to_at"][0])
        browser.sees("td", "audited-desk")

    def test_an_address_that_is_not_there_leads_to_one_that_is(self):
        browser.open(world.address + "/console/nonsense")
        self.on("Not found")
        self.follow("To the overview")
        self.on("Overview")
        browser.open(world.address + "/console/")
        self.on("Overview")

    def test_the_audit(self):
        self.approved("erin", "Erin", host="audited-desk", service="sudo")
        browser.open(world.address + "/console/audit")
        browser.sees("td", "audited-desk")
        self.looks_well("audit")
        # A phone that is called as its user, and a computer whose name takes the room of other columns.
        self.approved("frieda", "frieda", host="h" * 200, service="sudo")
        browser.open(world.address + "/console/audit")
        browser.sees("td", "h" * 200)
        self.assertIn("frieda", browser.each("td[data-name=Who]"))
        self.assertNotIn("frieda, frieda", browser.text())
        browser.resize("desktop")
        lines = browser.script("return [...document.querySelectorAll('tbody time')].map((one) => one.getClientRects().length)")
        self.assertEqual(set(lines), {1})
        browser.resize("phone-390")
        browser.sees("#zone", "this browser’s time zone")
        for time in browser.each("tbody time"):
            self.assertRegex(time, r"^[0-9-]{10} [0-9]{2}:[0-9]{2}:[0-9]{2}$")
        browser.type("input[name=computer]", "AUDITED")
        self.press("Search")
        browser.until(lambda: browser.is_at("computer=AUDITED"), "what was searched for")
        found = browser.each("td[data-name=Where]")
        self.assertTrue(found and all("audited-desk" in one for one in found), found)
        browser.type("input[name=computer]", "nowhere")
        self.press("Search")
        browser.sees("section", "No entries here.")
        self.searches_days_of_this_time_zone()
        cookie = "; ".join(f"{one['name']}={one['value']}" for one in browser.driver.get_cookies())
        status, headers, body = world.fetch("/console/audit.jsonl", Cookie=cookie)
        self.assertEqual((status, headers["Content-Type"]), (200, "application/jsonl"))
        self.assertIn(b'"event":"approved"', body)
        self.assertEqual(world.fetch("/console/audit.jsonl")[0], 401)


if __name__ == "__main__":
    unittest.main()
