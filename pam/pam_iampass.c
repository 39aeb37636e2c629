// The PAM side of pam_iampass.so: hands each call to Swift and decides nothing.
//
// It also keeps SWIFT_* variables of a setuid program's caller from the Swift runtime, which would read them while it
// is loaded (SWIFT_BACKTRACE installs signal handlers) and at first use.

#define PAM_SM_AUTH
#define PAM_SM_ACCOUNT
#define PAM_SM_SESSION
#define PAM_SM_PASSWORD

#include "pam_iampass.h"

#include <stddef.h>
#include <string.h>

#include <security/pam_modules.h>

extern char **environ;

/// More than anyone sets by accident. Variables past this number stay hidden for good, also from the host.
enum { GREATEST_HIDDEN_COUNT = 256 };

static char *hidden[GREATEST_HIDDEN_COUNT];
static size_t hidden_count;

// From libswiftCore.a: reads every SWIFT_* variable, once. The link fails where a toolchain names them otherwise.
extern void swift_once(void *token, void (*function)(void *), void *context);
extern char environment_token __asm__("_ZN5swift7runtime11environment15initializeTokenE");
extern void environment_initialize(void *) __asm__("_ZN5swift7runtime11environment10initializeEPv");

/// Runs before every other initializer of this library. The names are shifted by a letter in place: other threads see
/// complete strings throughout, and no memory changes hands.
static void hide_swift_variables(void) {
  if (environ == NULL) return;
  for (char **entry = environ; *entry != NULL; entry++) {
    if (strncmp(*entry, "SWIFT_", 6) != 0) continue;
    *entry += 1;
    if (hidden_count < GREATEST_HIDDEN_COUNT) hidden[hidden_count++] = *entry;
  }
}

/// Runs after every other initializer: the runtime has read an environment without its variables, and the host gets
/// its own back.
static void show_swift_variables(void) {
  swift_once(&environment_token, environment_initialize, NULL);
  if (environ == NULL) return;
  for (char **entry = environ; *entry != NULL; entry++) {
    for (size_t index = 0; index < hidden_count; index++) {
      if (*entry == hidden[index]) {
        *entry -= 1;
        break;
      }
    }
  }
  hidden_count = 0;
}

// Numbered sections run in order, the runtime's own initializers count as 65536.
__attribute__((section(".init_array.00101"), used)) static void (*const first)(void) = hide_swift_variables;
__attribute__((section(".init_array.99999"), used)) static void (*const last)(void) = show_swift_variables;

int pam_sm_authenticate(pam_handle_t *handle, int flags, int count, const char **words) {
  (void)flags;
  return iampass_authenticate(handle, count, words);
}

int pam_sm_open_session(pam_handle_t *handle, int flags, int count, const char **words) {
  (void)flags;
  return iampass_open_session(handle, count, words);
}

int pam_sm_close_session(pam_handle_t *handle, int flags, int count, const char **words) {
  (void)flags;
  return iampass_close_session(handle, count, words);
}

int pam_sm_setcred(pam_handle_t *handle, int flags, int count, const char **words) {
  (void)handle, (void)flags, (void)count, (void)words;
  return PAM_SUCCESS;
}

int pam_sm_acct_mgmt(pam_handle_t *handle, int flags, int count, const char **words) {
  (void)handle, (void)flags, (void)count, (void)words;
  return PAM_IGNORE;
}

int pam_sm_chauthtok(pam_handle_t *handle, int flags, int count, const char **words) {
  (void)handle, (void)flags, (void)count, (void)words;
  return PAM_IGNORE;
}
