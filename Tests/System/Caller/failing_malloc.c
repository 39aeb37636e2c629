// Lets allocations fail during a login, in LD_PRELOAD of the PAM host, which switches it on: FAIL_AT=N the Nth alone,
// FAIL_SEED=N one in 400 by that seed. Says at the end how many there were.

#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

enum { ONE_IN = 400 };

static bool active;
static long made, fail_at;
static unsigned long long seed;

long switch_failures(bool on) {
  const char *given = getenv("FAIL_AT");
  if (given != NULL) fail_at = atol(given);
  given = getenv("FAIL_SEED");
  // Spread, so that seeds that are neighbours fail at different times.
  if (given != NULL && on) seed = (unsigned long long)atol(given) * 2654435761u + 1;
  active = on;
  return made;
}

static bool fails(void) {
  if (!active) return false;
  made++;
  bool now = made == fail_at;
  if (seed != 0) {
    // Knuth's generator for 64 bits; its high ones are the good ones.
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    now = now || (seed >> 33) % ONE_IN == 0;
  }
  if (now) errno = ENOMEM;
  return now;
}

void *malloc(size_t size) { return fails() ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return fails() ? NULL : __libc_calloc(count, size); }
void *realloc(void *old, size_t size) { return fails() ? NULL : __libc_realloc(old, size); }
void *memalign(size_t alignment, size_t size) { return fails() ? NULL : __libc_memalign(alignment, size); }
void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void **made_here, size_t alignment, size_t size) {
  void *found = memalign(alignment, size);
  if (found == NULL) return ENOMEM;
  *made_here = found;
  return 0;
}
