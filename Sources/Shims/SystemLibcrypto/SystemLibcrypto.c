#include "SystemLibcrypto.h"

#include "HiddenVariables.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

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
  with(EVP_PKEY_free) with(EVP_PKEY_keygen_init) with(EVP_PKEY_generate) with(EVP_PKEY_CTX_set_params)               \
  with(EVP_PKEY_get_params) with(EVP_PKEY_derive_init) with(EVP_PKEY_derive_set_peer) with(EVP_PKEY_derive)

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

#define GROUP {OSSL_PKEY_PARAM_GROUP_NAME, OSSL_PARAM_UTF8_STRING, (char *)"prime256v1", 10, OSSL_PARAM_UNMODIFIED}
#define END {NULL, 0, NULL, 0, 0}

/// Nil if the point does not lie on the curve. `number` is nil for a public key; it is in the machine's byte order.
static EVP_PKEY *key_of(const unsigned char point[65], unsigned char *number) {
  OSSL_PARAM parameters[] = {
      GROUP,
      {OSSL_PKEY_PARAM_PUB_KEY, OSSL_PARAM_OCTET_STRING, (void *)point, 65, OSSL_PARAM_UNMODIFIED},
      {OSSL_PKEY_PARAM_PRIV_KEY, OSSL_PARAM_UNSIGNED_INTEGER, number, 32, OSSL_PARAM_UNMODIFIED},
      END,
  };
  if (number == NULL) parameters[2] = parameters[3];
  EVP_PKEY *key = NULL;
  EVP_PKEY_CTX *maker = library.EVP_PKEY_CTX_new_from_name(library.context, "EC", NULL);
  if (maker != NULL && library.EVP_PKEY_fromdata_init(maker) == 1)
    if (library.EVP_PKEY_fromdata(maker, &key, number == NULL ? EVP_PKEY_PUBLIC_KEY : EVP_PKEY_KEYPAIR, parameters)
        != 1)
      key = NULL;
  library.EVP_PKEY_CTX_free(maker);
  return key;
}

/// From the highest byte first to the machine's byte order, and back.
static void turn(const unsigned char from[32], unsigned char to[32]) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  for (int place = 0; place < 32; place++) to[place] = from[31 - place];
#else
  memcpy(to, from, 32);
#endif
}

int iampass_libcrypto_verify(
    const unsigned char point[65], const unsigned char digest[32], const unsigned char *signature, size_t size) {
  if (library.context == NULL) return -1;
  // The host may look at its own errors later.
  library.ERR_set_mark();
  int answer = -1;
  EVP_PKEY *key = key_of(point, NULL);
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

/// Writes both parts of a key out.
static int take_apart(EVP_PKEY *key, unsigned char secret[32], unsigned char point[65]) {
  unsigned char number[32];
  OSSL_PARAM parameters[] = {
      {OSSL_PKEY_PARAM_PUB_KEY, OSSL_PARAM_OCTET_STRING, point, 65, OSSL_PARAM_UNMODIFIED},
      {OSSL_PKEY_PARAM_PRIV_KEY, OSSL_PARAM_UNSIGNED_INTEGER, number, sizeof number, OSSL_PARAM_UNMODIFIED},
      END,
  };
  int is_done = library.EVP_PKEY_get_params(key, parameters) == 1 && parameters[0].return_size == 65
    && parameters[1].return_size == sizeof number && point[0] == 4;
  if (is_done) turn(number, secret);
  explicit_bzero(number, sizeof number);
  return is_done;
}

int iampass_libcrypto_make_key(unsigned char secret[32], unsigned char point[65]) {
  if (library.context == NULL) return 0;
  library.ERR_set_mark();
  OSSL_PARAM parameters[] = {GROUP, END};
  EVP_PKEY *key = NULL;
  EVP_PKEY_CTX *maker = library.EVP_PKEY_CTX_new_from_name(library.context, "EC", NULL);
  int is_done = maker != NULL && library.EVP_PKEY_keygen_init(maker) == 1
    && library.EVP_PKEY_CTX_set_params(maker, parameters) == 1 && library.EVP_PKEY_generate(maker, &key) == 1
    && take_apart(key, secret, point);
  library.EVP_PKEY_CTX_free(maker);
  library.EVP_PKEY_free(key);
  library.ERR_pop_to_mark();
  return is_done;
}

int iampass_libcrypto_agree(
    const unsigned char secret[32], const unsigned char point[65], const unsigned char other[65],
    unsigned char agreed[32]) {
  if (library.context == NULL) return 0;
  library.ERR_set_mark();
  unsigned char number[32];
  turn(secret, number);
  EVP_PKEY *own = key_of(point, number);
  explicit_bzero(number, sizeof number);
  EVP_PKEY *peer = key_of(other, NULL);
  size_t size = 32;
  EVP_PKEY_CTX *deriver = own != NULL && peer != NULL
    ? library.EVP_PKEY_CTX_new_from_pkey(library.context, own, NULL) : NULL;
  // It looks whether the peer's point is one of the group (SP 800-56A §5.6.2.3).
  int is_done = deriver != NULL && library.EVP_PKEY_derive_init(deriver) == 1
    && library.EVP_PKEY_derive_set_peer(deriver, peer) == 1
    && library.EVP_PKEY_derive(deriver, agreed, &size) == 1 && size == 32;
  library.EVP_PKEY_CTX_free(deriver);
  library.EVP_PKEY_free(peer);
  library.EVP_PKEY_free(own);
  library.ERR_pop_to_mark();
  return is_done;
}
