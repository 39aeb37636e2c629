"""The service runs confined, keeps its certificates, and is set up."""

import os
import re
import shutil

import machine
from machine import run, wait_until
from stage import Stage, read, write

CERTIFICATE = "/etc/iampass-server/cert.pem"
AUTHORITY = "/etc/iampass-server/own/authority.pem"


class Service(Stage):
    def test_05_the_services_run_confined(self):
        for unit in ("iampass-helper", "iampass-server", "iampass-worker.socket", "iampass-presence.socket"):
            wait_until(f"{unit} runs", lambda unit=unit: machine.is_active(unit))
        # Everybody may connect to it: it is on only if a listed service needs it.
        self.assertFalse(machine.is_active("iampass-broker.socket"))
        for unit in ("iampass-server", "iampass-helper", "iampass-worker", "iampass-presence", "iampass-broker"):
            said = run("systemd-analyze", "security", "--no-pager", unit)
            exposure = float(re.search(r"exposure level[^:]*: ([0-9.]+)", said)[1])
            self.assertLess(exposure, 2 if unit == "iampass-presence" else 3, unit)
        self.assertEqual(run("stat", "--format=%U %a", "/var/lib/iampass-server").split(), ["_iampass-server", "700"])

    def test_06_the_first_start_makes_a_certificate_and_says_so(self):
        said = run("journalctl", "--no-pager", "--unit=iampass-server")
        self.assertIn("made a self-signed certificate", said)
        self.assertIn("hint: iampass-server setup", said)
        self.assertEqual(run("stat", "--format=%U %G %a", "/etc/iampass-server/key.pem").split(), ["root", "_iampass-server", "640"])

    def test_07_a_renewed_certificate_is_taken_without_a_restart(self):
        pid = machine.main_pid("iampass-server")
        for path in (CERTIFICATE, "/etc/iampass-server/key.pem"):
            shutil.move(path, path + ".old")
        run("/usr/libexec/iampass-server/make-certificate", CERTIFICATE, "/etc/iampass-server/key.pem")
        run("systemctl", "reload", "iampass-server")
        own = run("openssl", "x509", "-in", CERTIFICATE, "-noout", "-fingerprint").strip()

        def shown():
            said = run("sh", "-c", "openssl s_client -connect localhost:8443 </dev/null 2>/dev/null | openssl x509 -noout -fingerprint", check=False)
            return said[1].strip()

        wait_until("the new certificate is shown", lambda: shown() == own)
        self.assertEqual(machine.main_pid("iampass-server"), pid)
        for path in (CERTIFICATE, "/etc/iampass-server/key.pem"):
            os.unlink(path + ".old")

    def test_08_half_a_certificate_pair_stops_the_start_and_says_so(self):
        leftover = "/etc/iampass-server/.new-interrupted"
        os.mkdir(leftover)
        with machine.moved_away("/etc/iampass-server/key.pem"):
            mark = machine.mark("half a pair")
            self.assertNotEqual(run("systemctl", "restart", "iampass-server", check=False)[0], 0)
            run("journalctl", "--sync")
            said = run("journalctl", "--no-pager").split(mark, 1)[1]
            self.assertRegex(said, "only one of /etc/iampass-server/cert.pem and /etc/iampass-server/key.pem exists")
            self.assertFalse(os.path.exists(leftover))
            self.assertFalse(os.path.exists("/etc/iampass-server/key.pem"), "another certificate's key was made")
        run("systemctl", "reset-failed", "iampass-server")
        run("systemctl", "restart", "iampass-server")
        wait_until("the service is back", lambda: run("ss", "-Hltn", "src 127.0.0.1:8443"))

    def test_08b_a_first_start_that_is_killed_between_its_two_files_is_made_good(self):
        key, own = "/etc/iampass-server/key.pem", "/usr/libexec/iampass-server/make-certificate"
        os.makedirs("/root/killing", exist_ok=True)
        self.addCleanup(shutil.rmtree, "/root/killing")
        write("/root/killing/mv", f'#!/bin/sh\n[ "$2" != {CERTIFICATE} ] || {{ kill -9 $PPID; exit 1; }}\nexec /usr/bin/mv "$@"\n')
        os.chmod("/root/killing/mv", 0o755)
        made = "/etc/iampass-server/.made-at-first-start"
        with machine.moved_away(CERTIFICATE), machine.moved_away(key), machine.moved_away(made):
            run("env", f"PATH=/root/killing:{os.environ['PATH']}", own, CERTIFICATE, key, check=False)
            self.assertEqual([os.path.exists(path) for path in (key, CERTIFICATE)], [True, False])
            run(own, CERTIFICATE, key)
            pair = [run("openssl", *words) for words in (("x509", "-in", CERTIFICATE, "-noout", "-pubkey"), ("pkey", "-in", key, "-pubout"))]
            self.assertEqual(pair[0], pair[1])
            self.assertEqual(read(made).split()[1::2], [CERTIFICATE, key])
            # A key whose sum nobody has noted is an administrator's.
            os.unlink(CERTIFICATE)
            self.assertEqual(run(own, CERTIFICATE, key, check=False)[0], 1)
            self.assertTrue(os.path.exists(key))
            for path in (key, made):
                os.unlink(path)

    def test_09_it_is_set_up_and_a_phone_enrolled(self):
        said = run("iampass-server", "setup", "--name", "localhost", "--listen", "127.0.0.1:8443", "--yes")
        own = f"iampassctl setup --server https://localhost:8443 --secret-file /root/office --ca {AUTHORITY}"
        self.assertRegex(said, r"\n  iampassctl join https://localhost:8443 IJ[12]\S+\n")
        # As if it had been killed before it restarted the service: run again, it does.
        open("/etc/iampass-server/restart-needed", "w").close()
        pid = machine.main_pid("iampass-server")
        self.assertIn("the service listens on 127.0.0.1:8443", run("iampass-server", "setup", "--yes"))
        self.assertNotEqual(machine.main_pid("iampass-server"), pid)
        self.assertNotIn("the service listens", run("iampass-server", "setup", "--yes"))
        # Without codes, which nobody is there to type on the phone.
        run("iampass-server", "application", "set", "office", "--match-code", "off", "--data", "/var/lib/iampass-server")
        owners = run("sh", "-c", "stat --format=%U /var/lib/iampass-server/*")
        self.assertEqual(set(owners.split()), {"_iampass-server"})
        run(*own.split())
        os.unlink("/root/office")
        run("iampassctl", "user", "add", "alice")
        link = re.search(r"https://\S+", run("iampassctl", "enroll", "alice"))[0]
        run("iampass-phone", "register", link, "--state", machine.PHONE_STATE, "--ca", AUTHORITY, user="phone")
        self.assert_pam_is_as_before()

    def test_09b_the_timer_renews_the_certificate_without_a_restart(self):
        self.assertTrue(machine.is_active("iampass-server-renew.timer"))
        pid, pair = machine.main_pid("iampass-server"), "/etc/iampass-server/own/service.pem"
        before = read(pair)
        self.assertIn("nothing to do", run("iampass-server", "certificate", "renew"))
        run("systemctl", "start", "iampass-server-renew")
        self.assertEqual(read(pair), before)
        # As one that ends soon.
        run("sh", "-c", f"""cd /root && openssl x509 -in {pair} -x509toreq -copy_extensions copy -signkey {pair} -out soon.csr && \
            openssl x509 -req -in soon.csr -CA {AUTHORITY} -CAkey /etc/iampass-server/own/authority.key -days 20 -copy_extensions copy \
            -out soon.pem && openssl pkey -in {pair} >soon.key && cat soon.key soon.pem >{pair}; rm -f soon.*""")
        soon = read(pair)
        self.assertNotEqual(soon, before)
        run("systemctl", "start", "iampass-server-renew")
        self.assertNotEqual(read(pair), soon)
        self.assertEqual(run("stat", "--format=%U %G %a", pair).split(), ["root", "_iampass-server", "640"])
        self.assertEqual(machine.main_pid("iampass-server"), pid)
        run("iampassctl", "user", "list")

    def test_09c_settings_with_which_the_service_does_not_start_are_put_back(self):
        hidden, unit = "/etc/iampass-hidden", "/run/systemd/system/iampass-server.service.d"
        settings, pair = read("/etc/default/iampass-server"), "/etc/iampass-server/own/service.pem"
        os.mkdir(hidden)
        os.makedirs(unit)
        shutil.copy(pair, hidden)
        shutil.chown(f"{hidden}/service.pem", group="_iampass-server")
        os.chmod(f"{hidden}/service.pem", 0o640)
        write(f"{unit}/hidden.conf", f"[Service]\nInaccessiblePaths={hidden}\n")
        run("systemctl", "daemon-reload")
        try:
            words = ["--yes", "--tls-cert", f"{hidden}/service.pem", "--tls-key", f"{hidden}/service.pem"]
            status, said = run("iampass-server", "setup", *words, check=False)
        finally:
            shutil.rmtree(hidden)
            shutil.rmtree(unit)
            run("systemctl", "daemon-reload")
        self.assertEqual(status, 69, said)
        self.assertIn("the settings of before are put back\nhint: journalctl -u iampass-server", said)
        self.assertEqual(read("/etc/default/iampass-server"), settings)
        wait_until("the service is back", lambda: run("ss", "-Hltn", "src 127.0.0.1:8443"))
