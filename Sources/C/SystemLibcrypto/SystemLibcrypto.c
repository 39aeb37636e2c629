#include "SystemLibcrypto.h"

#include "HiddenVariables.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

#include <openssl/core.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>

/// Debian 12 and 13 have this one.
static const char *const name = "libcrypto.so.3";

#define FUNCTIONS(with)                                                                                                \
  with(OPENSSL_init_crypto) with(OSSL_LIB_CTX_new) with(ERR_set_mark) with(ERR_pop_to_mark)                            \
  with(EVP_PKEY_CTX_new_from_name) with(EVP_PKEY_CTX_new_from_pkey) with(EVP_PKEY_CTX_free)                            \
  with(EVP_PKEY_fromdata_init) with(EVP_PKEY_fromdata) with(EVP_PKEY_verify_init) with(EVP_PKEY_verify)                \
  with(EVP_PKEY_free)

#define MEMBER(function) __typeof__(function) *function;
/// Written once, under the lock.
static struct {
  OSSL_LIB_CTX *context;
  FUNCTIONS(MEMBER)
} library;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/// Fills the members but the context; what is wrong otherwise.
static const char *find_functions(void *handle) {
#define FIND(function)                                                                                                 \
  library.function = (__typeof__(function) *)dlsym(handle, #function);                                                 \
  if (library.function == NULL) return "lacks " #function;
  FUNCTIONS(FIND)
  return NULL;
}

static int open_once(char *trouble, size_t size) {
  if (library.context != NULL) return 1;
  // How a process uses libcrypto is decided once. A program that has libcrypto decides: it keeps its configuration
  // file and its clean-up. Otherwise a look for engines, which each key begins with, would read openssl.cnf.
  uint64_t options = OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT;
  if (dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD) != NULL) options = 0;
  iampass_hide_variables("OPENSSL_");
  // It registers things with the thread library and the exit handlers: it must not be unloaded under them.
  void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  iampass_show_variables();
  if (handle == NULL) {
    const char *why = dlerror();
    snprintf(trouble, size, "%s", why != NULL ? why : "not loaded");
    return 0;
  }
  const char *lacking = find_functions(handle);
  if (lacking != NULL) {
    snprintf(trouble, size, "%s %s", name, lacking);
    return 0;
  }
  if (library.OPENSSL_init_crypto(options, NULL) != 1
      || (library.context = library.OSSL_LIB_CTX_new()) == NULL) {
    snprintf(trouble, size, "%s does not start", name);
    return 0;
  }
  return 1;
}

int iampass_libcrypto_open(char *trouble, size_t size) {
  if (pthread_mutex_lock(&lock) != 0) return 0;
  int is_open = open_once(trouble, size);
  pthread_mutex_unlock(&lock);
  return is_open;
}

/// Nil if the point does not lie on the curve.
static EVP_PKEY *key_of(const unsigned char point[65]) {
  OSSL_PARAM parameters[] = {
      {OSSL_PKEY_PARAM_GROUP_NAME, OSSL_PARAM_UTF8_STRING, (char *)"prime256v1", 10, OSSL_PARAM_UNMODIFIED},
      {OSSL_PKEY_PARAM_PUB_KEY, OSSL_PARAM_OCTET_STRING, (void *)point, 65, OSSL_PARAM_UNMODIFIED},
      {NULL, 0, NULL, 0, 0},
  };
  EVP_PKEY *key = NULL;
  EVP_PKEY_CTX *maker = library.EVP_PKEY_CTX_new_from_name(library.context, "EC", NULL);
  if (maker != NULL && library.EVP_PKEY_fromdata_init(maker) == 1)
    if (library.EVP_PKEY_fromdata(maker, &key, EVP_PKEY_PUBLIC_KEY, parameters) != 1) key = NULL;
  library.EVP_PKEY_CTX_free(maker);
  return key;
}

int iampass_libcrypto_verify(
    const unsigned char point[65], const unsigned char digest[32], const unsigned char *signature, size_t size) {
  if (library.context == NULL) return -1;
  // The host may look at its own errors later.
  library.ERR_set_mark();
  int answer = -1;
  EVP_PKEY *key = key_of(point);
  EVP_PKEY_CTX *verifier = key != NULL ? library.EVP_PKEY_CTX_new_from_pkey(library.context, key, NULL) : NULL;
  if (verifier != NULL && library.EVP_PKEY_verify_init(verifier) == 1) {
    // 0 is a wrong signature, and less is an error.
    int found = library.EVP_PKEY_verify(verifier, signature, size, digest, 32);
    answer = found == 1 ? 1 : found == 0 ? 0 : -1;
  }
  library.EVP_PKEY_CTX_free(verifier);
  library.EVP_PKEY_free(key);
  library.ERR_pop_to_mark();
  return answer;
}
