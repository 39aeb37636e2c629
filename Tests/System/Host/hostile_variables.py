"""What a hostile caller sets: every variable that a login asks for (Tests/System/Caller/variables.txt), and what the libraries
near it are known to read, whether we load them or not.
"""

import pathlib

RECORDED = pathlib.Path(__file__).resolve().parents[1] / "Caller" / "variables.txt"

#: Each names a file in the hostile folder, to be read or written.
FILES = """
    SSLKEYLOGFILE CURL_HOME CURL_CA_BUNDLE NETRC XDG_CONFIG_HOME XDG_RUNTIME_DIR HOME SSH_AUTH_SOCK
    SSL_CERT_FILE SSL_CERT_DIR OPENSSL_CONF OPENSSL_CONF_INCLUDE OPENSSL_MODULES OPENSSL_ENGINES RANDFILE CTLOG_FILE
    GNUTLS_SYSTEM_PRIORITY_FILE P11_KIT_CONFIG_FILE LIBSSH2_HOME
    KRB5_CONFIG KRB5CCNAME KRB5_KTNAME KRB5_CLIENT_KTNAME KRB5_TRACE KRB5RCACHEDIR KRB5RCACHENAME KRB5_KDC_PROFILE
    GSS_MECH_CONFIG LDAPCONF LDAPRC LDAPTLS_CACERT LDAPTLS_CACERTDIR LDAPTLS_CERT LDAPTLS_KEY SASL_PATH SASL_CONF_PATH
    LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT LD_DEBUG_OUTPUT LD_PROFILE_OUTPUT LD_ORIGIN_PATH MALLOC_TRACE MEMUSAGE_OUTPUT
    PCPROFILE_OUTPUT GMON_OUT_PREFIX LLVM_PROFILE_FILE
    HOSTALIASES RESOLV_HOST_CONF LOCPATH NLSPATH LANGUAGE GCONV_PATH GETCONF_DIR TZDIR TMPDIR NIS_PATH TERMINFO
    SWIFT_ROOT SWIFT_DEBUG_IMPLICIT_OBJC_ENTRYPOINT XAUTHORITY IAMPASS_SESSION IAMPASS_CONFIG IAMPASS_BIN
""".split()

#: A stranger's address: `{port}` is of a listener that counts who comes.
ADDRESSES = {
    **dict.fromkeys(("http_proxy", "https_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"), "http://127.0.0.1:{port}"),
    "LDAPURI": "ldap://127.0.0.1:{port}", "LDAPHOST": "127.0.0.1:{port}", "KRB5_KDC": "127.0.0.1:{port}",
    **dict.fromkeys(("DBUS_SYSTEM_BUS_ADDRESS", "DBUS_SESSION_BUS_ADDRESS"), "tcp:host=127.0.0.1,port={port}"),
}  # fmt: skip

#: What else would change how a library works; `{folder}` is the hostile one.
#:
#: Left out is what ends or changes sudo and su before they load any module: the loader's LD_TRACE_LOADED_OBJECTS and
#: LD_PROFILE, and garbage for RESOLV_MULTI and RESOLV_REORDER, of which sudo's own look-ups complain.
OTHERS = {
    # Instructions that no processor has all of.
    "OPENSSL_ia32cap": "0xffffffffffffffff:0xffffffffffffffff", "OPENSSL_armcap": "0xffffffff",
    "GNUTLS_CPUID_OVERRIDE": "0xffffffff", "NETTLE_FAT_OVERRIDE": "sha_ni,aesni,vaes", "GNUTLS_DEBUG_LEVEL": "99",
    "NETTLE_FAT_VERBOSE": "1", "P11_KIT_DEBUG": "all", "P11_KIT_STRICT": "1", "CURL_SSL_BACKEND": "gnutls",
    "no_proxy": "elsewhere", "NO_PROXY": "elsewhere", "LDAPNOINIT": "garbage",
    "SWIFT_BACKTRACE": "enable=yes,output-to={folder}/SWIFT_BACKTRACE", "SWIFT_DEBUG_HELP": "YES",
    "SWIFT_DEBUG_ENABLE_MALLOC_SCRIBBLE": "YES", "SWIFT_DETERMINISTIC_HASHING": "1",
    "GLIBC_TUNABLES": "glibc.malloc.check=3:glibc.malloc.tcache_count=0", "MALLOC_CHECK_": "3",
    "MALLOC_PERTURB_": "165", "MALLOC_ARENA_MAX": "garbage", "LD_BIND_NOW": "1", "LD_DEBUG": "all", "LD_SHOW_AUXV": "1",
    "RES_OPTIONS": "attempts:99 timeout:99 debug", "LOCALDOMAIN": "elsewhere.example", "RESOLV_MULTI": "on",
    "RESOLV_REORDER": "on", "RESOLV_ADD_TRIM_DOMAINS": "localhost", "RESOLV_OVERRIDE_TRIM_DOMAINS": "localhost",
    "GNUTLS_NO_EXPLICIT_INIT": "1", "GNUTLS_NO_IMPLICIT_INIT": "1", "GNUTLS_SYSTEM_PRIORITY_FAIL_ON_INVALID": "1",
    "TZ": ":{folder}/TZ", "LC_ALL": "../../../../..{folder}", "LANG": "hostile.UTF-8", "POSIXLY_CORRECT": "1",
    "SYSTEMD_LOG_LEVEL": "debug", "SYSTEMD_LOG_TARGET": "console", "SYSTEMD_BYPASS_USERDB": "1",
}  # fmt: skip


def variables(folder, port):
    """All of them, with values of a hostile kind; what was recorded and has none here names a file."""
    recorded = [line.split()[0] for line in RECORDED.read_text().splitlines() if line and not line.startswith("#")]
    found = {name: f"{folder}/{name}" for name in [*recorded, *FILES] if name != "environ"}
    for name, value in {**ADDRESSES, **OTHERS}.items():
        found[name] = value.format(folder=folder, port=port)
    return found
