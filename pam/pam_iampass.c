// The PAM side of pam_iampass.so: hands each call to Swift and decides nothing but that it cannot be made.
//
// It also keeps variables of a setuid program's caller from what reads them all the same: SWIFT_* from the Swift
// runtime, while it is loaded (SWIFT_BACKTRACE installs signal handlers) and at first use.

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

/// More than anyone sets by accident. Variables past this number stay hidden for good, also from the host.
enum { GREATEST_HIDDEN_COUNT = 256 };

/// A variable whose first letter was replaced, or, where that is 0, whose entry in `environ` was moved on by one.
static struct { char *text, letter; } hidden[GREATEST_HIDDEN_COUNT];
static size_t hidden_count;

/// Where the stack began: what the kernel put there at exec, the caller's environment among it, lies above.
extern void *__libc_stack_end;

// From libswiftCore.a: reads every SWIFT_* variable, once. The link fails where a toolchain names them otherwise.
extern void swift_once(void *token, void (*function)(void *), void *context);
extern char environment_token __asm__("_ZN5swift7runtime11environment15initializeTokenE");
extern void environment_initialize(void *) __asm__("_ZN5swift7runtime11environment10initializeEPv");

static bool begins(const char *text, const char *prefix) {
  while (*prefix != 0 && *text == *prefix) text++, prefix++;
  return *prefix == 0;
}

/// In place: other threads see complete strings throughout, and no memory changes hands.
///
/// What came by exec changes its first letter: sudo has a list of its own of the same strings, and a getenv(3) that
/// looks there. A host's own strings may be read-only, and are passed over by their entries.
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

/// Runs after every other initializer: the runtime has read an environment without its variables, and the host gets
/// its own back.
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

// Numbered sections run in order, the runtime's own initializers count as 65536.
__attribute__((section(".init_array.00101"), used)) static void (*const first)(void) = hide_variables;
__attribute__((section(".init_array.99999"), used)) static void (*const last)(void) = show_variables;

/// Bytes: many times what a login takes, where nobody has put a megabyte into `ca_file`.
enum { MEMORY_OF_A_CALL = 4 << 20 };

/// Swift ends the process where memory cannot be had, and a caller of su can set RLIMIT_AS low: looked at before.
static bool has_memory(void) {
  void *room = mmap(NULL, MEMORY_OF_A_CALL, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return false;
  munmap(room, MEMORY_OF_A_CALL);
  return true;
}

/// Whether a phone has signed in on this handle: what Swift keeps by these names, in PAM's data or, for sshd, its
/// environment.
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
  // What would have to be watched is refused; a password's session is none of ours.
  if (!has_memory()) return has_signed_in(handle) ? PAM_SESSION_ERR : PAM_SUCCESS;
  return iampass_open_session(handle, count, words);
}

int pam_sm_close_session(pam_handle_t *handle, int flags, int count, const char **words) {
  (void)flags;
  // The helper sees by itself that a session is gone.
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
