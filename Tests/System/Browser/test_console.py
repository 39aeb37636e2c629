"""The administrator's console in a real browser: without script, at each size, light and dark."""

import json
import os
import subprocess
import unittest
import urllib.parse

from browser_world import PROGRAMS, run
from console_case import NASTY, ConsoleCase, open_console, server


def setUpModule():
    global world, browser
    world, browser = open_console()


class Console(ConsoleCase):
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

    def test_an_auditor_reads(self):
        self.signed_in("otto", "auditor")
        self.open_office()
        self.assertEqual(browser.all("main form[method=post]"), [])
        self.assertFalse(browser.sees("input[name=answer_time]").is_enabled())

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
