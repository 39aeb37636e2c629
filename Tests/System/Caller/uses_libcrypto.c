// LD_PRELOAD for pam_host: makes it a program that has libcrypto, and begins to use it after its sign-ins.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <security/pam_appl.h>
#include <stdio.h>

#include <openssl/evp.h>

/// Tells whether MD4 is there. Only the legacy provider has it, which a configuration has to ask for.
int pam_end(pam_handle_t *handle, int status) {
  int (*ends)(pam_handle_t *, int) = (int (*)(pam_handle_t *, int))dlsym(RTLD_NEXT, "pam_end");
  int ended = ends(handle, status);
  EVP_MD *found = EVP_MD_fetch(NULL, "MD4", NULL);
  printf("MD4 is %s\n", found != NULL ? "there" : "not there");
  EVP_MD_free(found);
  return ended;
}
