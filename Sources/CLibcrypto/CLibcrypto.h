// Why this shim: OpenSSL spells several calls as macros, which Swift does not see, and calls SHA-256 without a provider
// deprecated, though nothing else has it so fast.
#ifndef IAMPASS_CLIBCRYPTO_H
#define IAMPASS_CLIBCRYPTO_H
// For SHA256_Init and its kin alone; Swift would warn of each use.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/x509.h>

/// Starts libcrypto without openssl.cnf: what it names is not for a process that decides who gets in, and reading it
/// takes a millisecond. Whoever uses more of libcrypto than `iampass_sha256` calls this first.
static inline int iampass_crypto_start(void) {
  return OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
}

/// SHA-256 of two texts in a row; 1, or 0 where it failed.
static inline int iampass_sha256(
    const unsigned char *first, size_t first_count, const unsigned char *second, size_t second_count,
    unsigned char digest[SHA256_DIGEST_LENGTH]) {
  SHA256_CTX state;
  int done = SHA256_Init(&state) && SHA256_Update(&state, first, first_count) &&
             SHA256_Update(&state, second, second_count) && SHA256_Final(digest, &state);
  OPENSSL_cleanse(&state, sizeof state);
  return done;
}
#endif
