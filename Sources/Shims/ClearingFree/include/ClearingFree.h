// Called instead of the C library's functions, by ld's --wrap=free and --wrap=realloc. ClearingFree.c explains why.
#ifndef IAMPASS_CLEARING_FREE_H
#define IAMPASS_CLEARING_FREE_H

#include <stddef.h>

void __wrap_free(void *memory);
void *__wrap_realloc(void *memory, size_t size);

#endif
