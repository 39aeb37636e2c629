// Why this shim: Swift may keep copies of a hash's state, which here is cleared where it stands; and nothing keeps its
// optimizer from leaving a comparison early.
#ifndef IAMPASS_CLIBMD_H
#define IAMPASS_CLIBMD_H
#include <sha2.h>
#include <string.h>

/// SHA-256 of two texts in a row.
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

/// Whether both have the same `count` bytes, in a time that does not depend on where they differ.
static inline int iampass_are_equal(const unsigned char *left, const unsigned char *right, size_t count) {
  // Each of its writes must be made, and none can be foreseen.
  volatile unsigned char difference = 0;
  for (size_t index = 0; index < count; index++) difference |= left[index] ^ right[index];
  return difference == 0;
}
#endif
