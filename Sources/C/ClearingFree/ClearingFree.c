// Why this: Swift copies texts and arrays as it likes, and frees them as they are, so that a secret's copies outlive
// it in the heap of a host that runs for days. Linked with --wrap=free and --wrap=realloc, all that this file is linked
// with, the Swift runtime inside it included, frees through here. What a shared library allocates for itself is its own.
// An allocator of the host's own has to have malloc_usable_size(3), as Swift's arrays ask it too.

#include "ClearingFree.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

// The C library's own, as ld's --wrap names it.
void __real_free(void *memory);

void __wrap_free(void *memory) {
  if (memory == NULL) return;
  explicit_bzero(memory, malloc_usable_size(memory));
  __real_free(memory);
}

/// Never in place: growing by the C library could move the memory and leave a copy behind.
void *__wrap_realloc(void *memory, size_t size) {
  if (memory == NULL) return malloc(size);
  if (size == 0) return __wrap_free(memory), NULL;
  void *fresh = malloc(size);
  if (fresh == NULL) return NULL;
  size_t old = malloc_usable_size(memory);
  memcpy(fresh, memory, old < size ? old : size);
  __wrap_free(memory);
  return fresh;
}
