// Why this shim: Swift may copy a hash's state, which this code clears in place. Swift's optimizer may also end a
// comparison early.
#ifndef IAMPASS_CLIBMD_H
#define IAMPASS_CLIBMD_H
#include <sha2.h>
#include <string.h>

/// The SHA-256 of two texts in a row.
static inline void iampass_sha256(
    const unsigned char *first, size_t first_count, const unsigned char *second, size_t second_count,
    unsigned char digest[SHA256_DIGEST_LENGTH]) {
  SHA2_CTX state;
  SHA256Init(&state);
  SHA256Update(&state, first, first_count);
  SHA256Update(&state, second, second_count);
  SHA256Final(digest, &state);
  explicit_bzero(&state, sizeof state);
}

/// Whether both have the same `count` bytes. The time does not depend on the place of a difference.
static inline int iampass_are_equal(const unsigned char *left, const unsigned char *right, size_t count) {
  // The compiler cannot foresee any of these writes, and must keep them all.
  volatile unsigned char difference = 0;
  for (size_t index = 0; index < count; index++) difference |= left[index] ^ right[index];
  return difference == 0;
}
#endif
