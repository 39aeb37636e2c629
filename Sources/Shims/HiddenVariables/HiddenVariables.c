#include "HiddenVariables.h"

#include <stdbool.h>
#include <stddef.h>

extern char **environ;

/// More than anyone sets by accident. Any further variable stays hidden for good, also from the host.
enum { GREATEST_HIDDEN_COUNT = 256 };

/// A hidden variable and its first letter, which was replaced. 0: its entry in `environ` was moved on by one instead.
static struct { char *text, letter; } hidden[GREATEST_HIDDEN_COUNT];
static size_t hidden_count;

/// The beginning of the stack. The kernel put the caller's environment above it at exec.
extern void *__libc_stack_end;

static bool begins(const char *text, const char *prefix) {
  while (*prefix != 0 && *text == *prefix) text++, prefix++;
  return *prefix == 0;
}

/// Changes texts in place, so that other threads always see complete strings and no memory changes hands.
///
/// For a variable that came by exec the first letter changes. sudo has its own list of the same strings, and a
/// getenv(3) that reads that list. A host's own strings may be read-only: their entries move on by one instead.
void iampass_hide_variables(const char *prefix) {
  if (environ == NULL) return;
  for (char **entry = environ; *entry != NULL; entry++) {
    if (!begins(*entry, prefix)) continue;
    char letter = 0;
    if (*entry > (char *)__libc_stack_end) letter = **entry, **entry = '_';
    else *entry += 1;
    if (hidden_count == GREATEST_HIDDEN_COUNT) continue;
    hidden[hidden_count].text = *entry;
    hidden[hidden_count++].letter = letter;
  }
}

void iampass_show_variables(void) {
  for (size_t index = 0; index < hidden_count; index++) {
    if (hidden[index].letter != 0) {
      *hidden[index].text = hidden[index].letter;
      continue;
    }
    for (char **entry = environ; entry != NULL && *entry != NULL; entry++) {
      if (*entry == hidden[index].text) *entry -= 1;
    }
  }
  hidden_count = 0;
}
