// ECDSA and ECDH over P-256 by the system's libcrypto (OpenSSL 3), which is opened when it is first needed: loading it takes sudo longer
// than everything else that it loads for us, and most sign-ins need no signature.
#ifndef IAMPASS_SYSTEM_LIBCRYPTO_H
#define IAMPASS_SYSTEM_LIBCRYPTO_H
#include <stddef.h>

/// Opens libcrypto.so.3 in a library context of its own, with `OPENSSL_*` variables hidden: some kill a setuid program in the
/// library's constructor. No configuration is read into that context. A program that has libcrypto itself goes on as it
/// would without us; in any other openssl.cnf is not read. It stays open until the process ends. May be called again.
///
/// Returns 1, or 0 and writes why, ended by NUL, to `trouble`.
int iampass_libcrypto_open(char *trouble, size_t size);

/// Whether the owner of the P-256 key made the signature over a SHA-256 digest: 1 if so, 0 if not, -1 if that cannot be
/// known: for lack of memory, and for a point that does not lie on the curve. Only after `iampass_libcrypto_open` returned 1.
///
/// `point` is uncompressed; `signature` is ASN.1 DER.
int iampass_libcrypto_verify(
    const unsigned char point[65], const unsigned char digest[32], const unsigned char *signature, size_t size);

/// Makes a P-256 key pair: `secret` is the private number with its highest byte first, `point` is uncompressed. Only after
/// `iampass_libcrypto_open` returned 1. Returns 1, or 0 for libcrypto's own trouble.
int iampass_libcrypto_make_key(unsigned char secret[32], unsigned char point[65]);

/// What the owners of two P-256 keys agree on: the x coordinate of ECDH (SP 800-56A). `secret` and `point` are one key's,
/// `other` the other's. Only after `iampass_libcrypto_open` returned 1. Returns 1, or 0 for keys that libcrypto does not take.
int iampass_libcrypto_agree(
    const unsigned char secret[32], const unsigned char point[65], const unsigned char other[65],
    unsigned char agreed[32]);

#endif
