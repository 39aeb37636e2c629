// Why this shim: libFuzzer comes without a header. SwiftPM renames a program's main, so that libFuzzer's own cannot be it.
#ifndef IAMPASS_CFUZZER_H
#define IAMPASS_CFUZZER_H
#include <stddef.h>
#include <stdint.h>

/// Runs libFuzzer as its own main does.
int LLVMFuzzerRunDriver(int *count, char ***words, int (*look)(const uint8_t *bytes, size_t count));
#endif
