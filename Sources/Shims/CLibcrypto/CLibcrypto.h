// Why this shim: several OpenSSL calls are macros, which Swift does not see.
#ifndef IAMPASS_CLIBCRYPTO_H
#define IAMPASS_CLIBCRYPTO_H
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/provider.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

/// Starts libcrypto without openssl.cnf. Call this before any other libcrypto function. That file must not influence a
/// process that decides about sign-ins, and reading the file takes a millisecond.
static inline int iampass_crypto_start(void) {
  return OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
}

/// A new key on P-256, by the system's random numbers; NULL if libcrypto fails.
static inline EVP_PKEY *iampass_new_p256_key(void) {
  EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_id(EVP_PKEY_EC, NULL);
  EVP_PKEY *key = NULL;
  if (context == NULL) return NULL;
  if (EVP_PKEY_keygen_init(context) != 1 ||
      EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1) != 1 ||
      EVP_PKEY_keygen(context, &key) != 1)
    key = NULL;
  EVP_PKEY_CTX_free(context);
  return key;
}

/// Stacks are macros: an opaque type for Swift, and what it needs of a stack of certificates.
static inline int iampass_count_certificates(STACK_OF(X509) *certificates) {
  return certificates == NULL ? 0 : sk_X509_num(certificates);
}
static inline X509 *iampass_certificate(STACK_OF(X509) *certificates, int place) {
  return sk_X509_value(certificates, place);
}
static inline void iampass_free_certificates(STACK_OF(X509) *certificates) {
  sk_X509_pop_free(certificates, X509_free);
}
#endif
