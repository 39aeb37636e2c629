#ifndef IAMPASS_PROGRAM_PAGES_H
#define IAMPASS_PROGRAM_PAGES_H
#include <stddef.h>

/// Gives the kernel back what this process has mapped of its program and its libraries. What is needed later is mapped
/// again, page by page. Nothing is lost: only segments that cannot be written to are given back.
void iampass_give_back_pages(void);

/// Blocks of `least` bytes and more are pages of their own, which the kernel provides as they are used (mallopt(3),
/// M_MMAP_THRESHOLD). Otherwise a large buffer of which little is used lies on pages that others have used before.
void iampass_map_large_blocks(size_t least);

/// Gives the kernel back what this process has freed of its heap (malloc_trim(3)). Otherwise a page that holds nothing
/// stays resident while one after it is in use.
void iampass_give_back_heap(void);
#endif
