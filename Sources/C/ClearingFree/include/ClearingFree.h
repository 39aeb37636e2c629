// What ld's --wrap=free and --wrap=realloc call instead of the C library's own; ClearingFree.c says why.
#ifndef IAMPASS_CLEARING_FREE_H
#define IAMPASS_CLEARING_FREE_H

#include <stddef.h>

void __wrap_free(void *memory);
void *__wrap_realloc(void *memory, size_t size);

#endif
