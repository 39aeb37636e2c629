// Why this file: Swift copies texts and arrays freely, and frees them without clearing them. A secret's copies would
// stay in the heap of a host that runs for days.
//
// The linker options --wrap=free and --wrap=realloc send every free of the linked code through here, the Swift runtime
// included. Shared libraries keep their own free. A host's own allocator must have malloc_usable_size(3), which Swift's
// arrays also call.

#include "ClearingFree.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

// The C library's own functions, by the names that ld's --wrap gives them.
void __real_free(void *memory);

void __wrap_free(void *memory) {
  if (memory == NULL) return;
  explicit_bzero(memory, malloc_usable_size(memory));
  __real_free(memory);
}

/// Never grows in place: the C library could move the memory and leave a copy behind.
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
