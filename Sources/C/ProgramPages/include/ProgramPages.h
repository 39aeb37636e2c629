#ifndef IAMPASS_PROGRAM_PAGES_H
#define IAMPASS_PROGRAM_PAGES_H
/// Gives the kernel back what this process has mapped of its program and its libraries. What is needed later is mapped
/// again, page by page. Nothing is lost: only segments that cannot be written to are given back.
void iampass_give_back_pages(void);
#endif
