// A process that waits for days needs few pages of its program. The start touches many, and the kernel maps others
// beside each of them. Only the C library knows where the segments lie (dl_iterate_phdr(3)).
#define _GNU_SOURCE
#include "ProgramPages.h"

#include <link.h>
#include <malloc.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static int give_back(struct dl_phdr_info *library, size_t size, void *page_size) {
  (void)size;
  uintptr_t page = *(uintptr_t *)page_size;
  for (int index = 0; index < library->dlpi_phnum; index++) {
    const ElfW(Phdr) *segment = &library->dlpi_phdr[index];
    if (segment->p_type != PT_LOAD || (segment->p_flags & PF_W)) continue;
    uintptr_t start = (library->dlpi_addr + segment->p_vaddr) & ~(page - 1);
    uintptr_t end = library->dlpi_addr + segment->p_vaddr + segment->p_memsz;
    // A refusal costs memory, and nothing else.
    madvise((void *)start, end - start, MADV_RANDOM);
    madvise((void *)start, end - start, MADV_DONTNEED);
  }
  return 0;
}

void iampass_give_back_pages(void) {
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  dl_iterate_phdr(give_back, &page);
}

void iampass_map_large_blocks(size_t least) { mallopt(M_MMAP_THRESHOLD, (int)least); }

void iampass_give_back_heap(void) { malloc_trim(0); }
