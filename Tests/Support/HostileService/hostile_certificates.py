"""Certificates good and bad, made with the openssl command into a folder of their own."""

import os
import subprocess

# name: (extension file's subjectAltName, subject, first and last second of validity)
LONG = ("20200101000000Z", "20491231235959Z")
LEAVES = {
    "good": ("DNS:localhost,IP:127.0.0.1,IP:::1", "/CN=localhost", LONG),
    "expired": ("DNS:localhost,IP:127.0.0.1", "/CN=localhost", ("20000101000000Z", "20010101000000Z")),
    "not_yet_valid": ("DNS:localhost,IP:127.0.0.1", "/CN=localhost", ("20480101000000Z", "20490101000000Z")),
    "wrong_host": ("DNS:elsewhere.example,IP:192.0.2.1", "/CN=localhost", LONG),
    "cn_only": (None, "/CN=localhost", LONG),
    "no_address": ("DNS:localhost", "/CN=127.0.0.1", LONG),
    "weak_key": ("DNS:localhost,IP:127.0.0.1", "/CN=localhost", LONG),
    "weak_digest": ("DNS:localhost,IP:127.0.0.1", "/CN=localhost", LONG),
}

CONFIGURATION = """
[ca]
default_ca = own
[own]
dir = {folder}
database = {folder}/index.txt
new_certs_dir = {folder}
serial = {folder}/serial
certificate = {folder}/ca.pem
private_key = {folder}/ca.key
default_md = sha256
policy = any
unique_subject = no
[any]
commonName = supplied
[req]
distinguished_name = name
[name]
"""


class Certificates:
    """Makes what is asked for once: `chain("expired")` is a certificate file, `key_of("expired")` its key."""

    def __init__(self, folder):
        self.folder = folder
        self.ca_file = self._path("ca.pem")
        self.key = self._path("leaf.key")
        for name, text in (("index.txt", ""), ("serial", "1000\n"), ("ca.cnf", CONFIGURATION.format(folder=folder))):
            with open(self._path(name), "w") as file:
                file.write(text)
        for key in ("ca.key", "leaf.key", "stranger.key"):
            self._openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", self._path(key))
        self._openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:1024", "-out", self.key_of("weak_key"))
        self._self_signed("ca", "/CN=Hostile Test CA", "basicConstraints=critical,CA:TRUE")
        for name, (names, subject, validity) in LEAVES.items():
            self._sign(name, names, subject, validity)
        self._self_signed("self_signed", "/CN=localhost", "subjectAltName=DNS:localhost", key="leaf.key")

    def chain(self, name):
        return self._path(name + ".pem")

    def key_of(self, name):
        return self._path("weak.key") if name == "weak_key" else self.key

    def _path(self, name):
        return os.path.join(self.folder, name)

    def _self_signed(self, name, subject, extension, key=None):
        self._openssl("req", "-x509", "-new", "-days", "3650", "-subj", subject, "-addext", extension,
                      "-key", self._path(key or name + ".key"), "-out", self.chain(name))

    def _sign(self, name, names, subject, validity):
        request, extensions = self._path(name + ".csr"), self._path(name + ".ext")
        with open(extensions, "w") as file:
            file.write("basicConstraints=CA:FALSE\n" + (f"subjectAltName={names}\n" if names else ""))
        self._openssl("req", "-new", "-subj", subject, "-key", self.key_of(name), "-out", request)
        self._openssl("ca", "-batch", "-notext", "-in", request, "-out", self.chain(name), "-extfile", extensions,
                      "-startdate", validity[0], "-enddate", validity[1], "-md", "sha1" if name == "weak_digest" else "sha256")

    def _openssl(self, command, *arguments):
        configured = ("-config", self._path("ca.cnf")) if command in ("req", "ca") else ()
        subprocess.run(("openssl", command) + configured + arguments, check=True, capture_output=True)
