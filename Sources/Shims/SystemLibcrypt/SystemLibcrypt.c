#include "SystemLibcrypt.h"

#include <crypt.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// Debian 12 and 13 have this one. libpam's own pam_unix links it too.
static const char *const name = "libcrypt.so.1";

/// Written once, under the lock.
static struct {
  __typeof__(crypt_rn) *crypt;
  __typeof__(crypt_gensalt_rn) *setting;
} library;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int open_once(char *trouble, size_t size) {
  if (library.setting != NULL) return 1;
  void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == NULL) {
    const char *why = dlerror();
    snprintf(trouble, size, "%s", why != NULL ? why : "not loaded");
    return 0;
  }
  library.crypt = (__typeof__(crypt_rn) *)dlsym(handle, "crypt_rn");
  __typeof__(crypt_gensalt_rn) *setting = (__typeof__(crypt_gensalt_rn) *)dlsym(handle, "crypt_gensalt_rn");
  if (library.crypt == NULL || setting == NULL) {
    snprintf(trouble, size, "%s is not libxcrypt's", name);
    return 0;
  }
  library.setting = setting;
  return 1;
}

int iampass_libcrypt_open(char *trouble, size_t size) {
  if (pthread_mutex_lock(&lock) != 0) return 0;
  int is_open = open_once(trouble, size);
  pthread_mutex_unlock(&lock);
  return is_open;
}

int iampass_crypt(const char *phrase, const char *setting, char found[IAMPASS_CRYPT_SIZE]) {
  found[0] = '\0';
  if (library.setting == NULL) return 0;
  // 32 KiB, too much for the stack of a host's thread.
  struct crypt_data *data = calloc(1, sizeof *data);
  if (data == NULL) return 0;
  // Unlike crypt_r, this returns NULL for a failure, never a text that could be taken for a hash.
  const char *hash = library.crypt(phrase, setting, data, sizeof *data);
  int is_done = hash != NULL && hash[0] != '*' && strlen(hash) < IAMPASS_CRYPT_SIZE;
  if (is_done) strcpy(found, hash);
  explicit_bzero(data, sizeof *data);
  free(data);
  return is_done;
}

int iampass_crypt_setting(unsigned long cost, const unsigned char salt[16], char found[IAMPASS_CRYPT_SIZE]) {
  found[0] = '\0';
  return library.setting != NULL
    && library.setting("$y$", cost, (const char *)salt, 16, found, IAMPASS_CRYPT_SIZE) != NULL && found[0] == '$';
}
