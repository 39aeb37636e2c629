// The PAM side of pam_iampass.so. It hands each call to Swift, and refuses a call only if memory is short.
//
// It also hides a setuid program's SWIFT_* variables from the Swift runtime, since the caller chose them. The runtime
// reads them when it is loaded (SWIFT_BACKTRACE installs signal handlers) and at first use.

#define PAM_SM_AUTH
#define PAM_SM_ACCOUNT
#define PAM_SM_SESSION
#define PAM_SM_PASSWORD

#include "pam_iampass.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <syslog.h>

#include <security/pam_ext.h>
#include <security/pam_modules.h>

extern char **environ;

/// More than anyone sets by accident. Any further variable stays hidden for good, also from the host.
enum { GREATEST_HIDDEN_COUNT = 256 };

/// A hidden variable and its first letter, which was replaced. 0: its entry in `environ` was moved on by one instead.
static struct { char *text, letter; } hidden[GREATEST_HIDDEN_COUNT];
static size_t hidden_count;

/// The beginning of the stack. The kernel put the caller's environment above it at exec.
extern void *__libc_stack_end;

// From libswiftCore.a: reads every SWIFT_* variable once. Linking fails if a toolchain changes these names.
extern void swift_once(void *token, void (*function)(void *), void *context);
extern char environment_token __asm__("_ZN5swift7runtime11environment15initializeTokenE");
extern void environment_initialize(void *) __asm__("_ZN5swift7runtime11environment10initializeEPv");

static bool begins(const char *text, const char *prefix) {
  while (*prefix != 0 && *text == *prefix) text++, prefix++;
  return *prefix == 0;
}

/// Changes texts in place, so that other threads always see complete strings and no memory changes hands.
///
/// For a variable that came by exec the first letter changes. sudo has its own list of the same strings, and a
/// getenv(3) that reads that list. A host's own strings may be read-only: their entries move on by one instead.
static void hide_variables(void) {
  if (environ == NULL) return;
  for (char **entry = environ; *entry != NULL; entry++) {
    if (!begins(*entry, "SWIFT_")) continue;
    char letter = 0;
    if (*entry > (char *)__libc_stack_end) letter = **entry, **entry = '_';
    else *entry += 1;
    if (hidden_count == GREATEST_HIDDEN_COUNT) continue;
    hidden[hidden_count].text = *entry;
    hidden[hidden_count++].letter = letter;
  }
}

/// Runs after every other initializer. The runtime has then read an environment without these variables, and the host
/// gets them back.
static void show_variables(void) {
  swift_once(&environment_token, environment_initialize, NULL);
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

// Numbered sections run in order. The runtime's own initializers count as 65536.
__attribute__((section(".init_array.00101"), used)) static void (*const first)(void) = hide_variables;
__attribute__((section(".init_array.99999"), used)) static void (*const last)(void) = show_variables;

/// In bytes: many times what a login needs, unless `ca_file` has a megabyte.
enum { MEMORY_OF_A_CALL = 4 << 20 };

/// Swift ends the process if memory runs out, and a caller of su can set RLIMIT_AS low. This checks beforehand.
static bool has_memory(void) {
  void *room = mmap(NULL, MEMORY_OF_A_CALL, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return false;
  munmap(room, MEMORY_OF_A_CALL);
  return true;
}

/// Whether a phone signed in on this handle. Swift keeps these names in PAM's data or, for sshd, in PAM's environment.
static bool has_signed_in(pam_handle_t *handle) {
  const void *kept = NULL;
  return pam_getenv(handle, "IAMPASS_SESSION") != NULL || pam_get_data(handle, "iampass_session", &kept) == PAM_SUCCESS;
}

int pam_sm_authenticate(pam_handle_t *handle, int flags, int count, const char **words) {
  (void)flags;
  if (!has_memory()) {
    pam_syslog(handle, LOG_ERR, "refused: too little memory for a sign-in");
    return PAM_AUTHINFO_UNAVAIL;
  }
  return iampass_authenticate(handle, count, words);
}

int pam_sm_open_session(pam_handle_t *handle, int flags, int count, const char **words) {
  (void)flags;
  // A session that must be watched is refused. A session by password does not concern us.
  if (!has_memory()) return has_signed_in(handle) ? PAM_SESSION_ERR : PAM_SUCCESS;
  return iampass_open_session(handle, count, words);
}

int pam_sm_close_session(pam_handle_t *handle, int flags, int count, const char **words) {
  (void)flags;
  // The helper notices by itself when a session ends.
  if (!has_memory()) return PAM_SUCCESS;
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
