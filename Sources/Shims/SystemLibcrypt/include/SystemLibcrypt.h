// yescrypt by the system's libcrypt (libxcrypt), which is opened when a recovery code was typed: no other sign-in loads it.
#ifndef IAMPASS_SYSTEM_LIBCRYPT_H
#define IAMPASS_SYSTEM_LIBCRYPT_H
#include <stddef.h>

/// Room for a hash or a setting with its NUL (crypt(5)).
#define IAMPASS_CRYPT_SIZE 384

/// Opens libcrypt.so.1, which stays open until the process ends. May be called again.
///
/// Returns 1, or 0 and writes why, ended by NUL, to `trouble`.
int iampass_libcrypt_open(char *trouble, size_t size);

/// Hashes a phrase by a setting, or by a whole hash, whose setting counts (crypt_rn(3)). Only after
/// `iampass_libcrypt_open` returned 1.
///
/// Returns 1, or 0 if libcrypt does not take the setting or has no memory for it.
int iampass_crypt(const char *phrase, const char *setting, char found[IAMPASS_CRYPT_SIZE]);

/// A new yescrypt setting of a salt of 16 bytes (crypt_gensalt_rn(3)). Only after `iampass_libcrypt_open` returned 1.
///
/// Returns 1, or 0 for a cost that libcrypt does not take.
int iampass_crypt_setting(unsigned long cost, const unsigned char salt[16], char found[IAMPASS_CRYPT_SIZE]);

#endif
