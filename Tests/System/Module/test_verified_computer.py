"""`approvals = verified`: what the computer itself needs. Without its list of phones and libcrypto no phone rings."""

import base64
import os
import subprocess
import unittest
import unittest.mock

from Support.HostileService.hostile_case import ENROLLED, START, Case, hostile_world, started
from Support.HostileService.signing_phone import ServiceOfPhone, SigningPhone
from Support.Service.world import AUTHINFO_UNAVAIL, SERVICE_ERR, SUCCESS
from test_verified import Verified


def setUpModule():
    global world
    world = hostile_world()


class Files(Case):
    """What /etc/iampass/phones says."""

    def refused(self, text, code, told, mode=0o644):
        world.write("phones", text, mode)
        service = self.serve()
        world.configure(approvals="verified")
        result = self.play(code, told=told)
        self.assertEqual(self.asked(service, START), [], "the phone was rung")
        return result

    def test_a_user_without_a_phone_is_not_rung(self):
        phone = SigningPhone()
        self.refused("", AUTHINFO_UNAVAIL, "trusts no phone of yours")
        self.refused(phone.line("root"), AUTHINFO_UNAVAIL, "trusts no phone of yours")
        world.pam("sudo", "prompt=push timeout=5s methods=device")
        self.addCleanup(world.pam, "sudo", "prompt=push timeout=5s")
        self.refused(phone.line(ENROLLED, lock=False), AUTHINFO_UNAVAIL, "no screen lock")

    def test_what_no_computer_can_verify_is_said(self):
        world.pam("sudo", "prompt=push timeout=5s methods=facial")
        self.addCleanup(world.pam, "sudo", "prompt=push timeout=5s")
        line = SigningPhone().line(ENROLLED)
        result = self.refused(line, AUTHINFO_UNAVAIL, "cannot verify a face, which is asked for")
        self.assertNotIn("screen lock", " ".join(result["texts"]))
        self.assertIn("a computer cannot verify methods = facial", result["log"][-1])

    def test_a_key_off_the_curve_rings_nobody(self):
        phone = SigningPhone()
        for name in ("key", "lock"):
            with self.subTest(key=name):
                key = getattr(phone, name).text
                point = bytearray(base64.b64decode(key))
                point[-1] ^= 1
                wrong = base64.b64encode(point).decode()
                line = phone.line(ENROLLED)
                self.assertIn(key, line)
                result = self.refused(line.replace(key, wrong), SERVICE_ERR, "not configured")
                self.assertIn("phones:1: not the line of a phone", result["log"][-1])

    def test_a_file_that_cannot_be_believed_refuses(self):
        line = SigningPhone().line(ENROLLED)
        self.refused(line[:-30].replace(":17", "!17") + "\n", SERVICE_ERR, "not configured")
        self.refused(line, SERVICE_ERR, "not configured", mode=0o666)
        os.unlink(world.path("phones"))
        os.symlink(world.path("elsewhere"), world.path("phones"))
        self.addCleanup(os.unlink, world.path("phones"))
        world.write("elsewhere", line, 0o644)
        service = self.serve()
        world.configure(approvals="verified")
        result = self.play(SERVICE_ERR)
        self.assertIn("symbolic link", result["log"][-1])
        self.assertEqual(self.asked(service, START), [])

    def test_a_phone_that_stands_there_twice_refuses(self):
        line = SigningPhone().line(ENROLLED)
        result = self.refused(line + line, SERVICE_ERR, "not configured")
        self.assertIn("phones:2: a phone of this user stands here for the second time", result["log"][-1])

    def test_another_users_bad_line_does_not_matter(self):
        phone = SigningPhone()
        self.refused(f"root:x\n{SigningPhone().line('bin')}", AUTHINFO_UNAVAIL, "trusts no phone of yours")
        world.write("phones", "root:x\n" + phone.line(ENROLLED), 0o644)
        good = ServiceOfPhone(phone, started)
        good.url = self.serve(start=good.answer_start, status=good.answer_status).url
        world.configure(approvals="verified")
        self.play(SUCCESS)

    def test_no_context_no_approval(self):
        world.write("phones", SigningPhone().line(ENROLLED), 0o644)
        service = self.serve()
        world.configure(approvals="verified", send_context="no")
        self.addCleanup(world.configure, send_context=None)
        result = self.play(SERVICE_ERR)
        self.assertIn("take send_context = no out", result["log"][-1])
        self.assertEqual(self.asked(service, START), [])


class Library(Verified):
    """libcrypto as this computer has it, and as somebody would like it to be."""

    def sign_in(self, code, **environment):
        service = self.serve_approval(lambda start: self.phone.approval(self.honest(start)))
        with unittest.mock.patch.dict(os.environ, environment):
            result = self.play(code)
        if code != SUCCESS:
            self.assertEqual(self.asked(service, START), [], "the phone was rung")
            counted = world.path("run", "attempts")
            self.assertEqual(os.listdir(counted) if os.path.isdir(counted) else [], [], "the request counts")
        return result

    def library(self, source):
        """A folder with this as its libcrypto."""
        os.makedirs(world.path("library"), exist_ok=True)
        os.chmod(world.folder, 0o711)
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", world.path("library", "libcrypto.so.3")], input=source,
            text=True, check=True)  # fmt: skip
        return world.path("library")

    def test_a_library_that_lacks_something_refuses(self):
        result = self.sign_in(AUTHINFO_UNAVAIL, LD_LIBRARY_PATH=self.library("int nothing;"))
        self.assertIn("cannot check signatures of phones", " ".join(result["texts"]))
        self.assertIn("libcrypto.so.3 lacks OPENSSL_init_crypto", result["log"][-1])

    def test_a_library_that_cannot_be_loaded_refuses(self):
        folder = self.library("int nothing;")
        world.write("library/libcrypto.so.3", "not a library\n" * 100, 0o644)
        result = self.sign_in(AUTHINFO_UNAVAIL, LD_LIBRARY_PATH=folder)
        self.assertIn("invalid ELF header", result["log"][-1])

    #: All that the module asks of libcrypto. `VERIFIES` is what a signature's check answers.
    STAND_IN = """
        static char thing;
        int OPENSSL_init_crypto() { return 1; }
        void *OSSL_LIB_CTX_new() { return &thing; }
        int ERR_set_mark() { return 1; }
        int ERR_pop_to_mark() { return 1; }
        void *EVP_PKEY_CTX_new_from_name() { return CONTEXT; }
        void *EVP_PKEY_CTX_new_from_pkey() { return CONTEXT; }
        void EVP_PKEY_CTX_free() {}
        int EVP_PKEY_fromdata_init() { return 1; }
        int EVP_PKEY_fromdata(void *maker, void **key) { return *key = &thing, maker != 0; }
        int EVP_PKEY_verify_init() { return 1; }
        int EVP_PKEY_verify() { return VERIFIES; }
        void EVP_PKEY_free() {}
        """ + "".join(f"int EVP_PKEY_{name}() {{ return 0; }}\n" for name in (
            "keygen_init", "generate", "CTX_set_params", "get_params", "derive_init", "derive_set_peer", "derive"))

    def stand_in(self, context, verifies):
        return self.library(f"#define CONTEXT {context}\n#define VERIFIES {verifies}\n{self.STAND_IN}")

    def test_a_library_that_gives_wrong_answers_refuses(self):
        for verifies in (1, 0):
            result = self.sign_in(AUTHINFO_UNAVAIL, LD_LIBRARY_PATH=self.stand_in("&thing", verifies))
            self.assertIn("libcrypto gives wrong answers", result["log"][-1])

    def test_a_library_without_memory_blames_no_key(self):
        for context, verifies in (("0", 1), ("&thing", -1)):
            result = self.sign_in(AUTHINFO_UNAVAIL, LD_LIBRARY_PATH=self.stand_in(context, verifies))
            self.assertIn("libcrypto cannot check a signature now, for example for lack of memory", result["log"][-1])

    def test_the_librarys_constructor_does_not_see_its_callers_variables(self):
        source = """
            #include <stdlib.h>
            __attribute__((constructor)) static void start(void) { if (getenv("OPENSSL_ia32cap") != NULL) abort(); }
            """
        result = self.sign_in(AUTHINFO_UNAVAIL, LD_LIBRARY_PATH=self.library(source), OPENSSL_ia32cap="1")
        self.assertIn("lacks OPENSSL_init_crypto", result["log"][-1])

    def test_a_configuration_of_libcrypto_is_not_read(self):
        """One that takes every algorithm away, and one that cannot be read."""
        world.write("openssl.cnf", "openssl_conf = a\n[a]\nproviders = b\n[b]\nnull = c\n[c]\nactivate = 1\n", 0o644)
        self.sign_in(SUCCESS, OPENSSL_CONF=world.path("openssl.cnf"))
        world.forget_attempts()
        self.sign_in(SUCCESS, OPENSSL_CONF="/nowhere", OPENSSL_MODULES=world.folder, OPENSSL_ENGINES=world.folder)


if __name__ == "__main__":
    unittest.main()
