// Why this shim: glibc has no functions for keyctl, capset and landlock, and libseccomp's functions are variadic.
#ifndef IAMPASS_CCONFINEMENT_H
#define IAMPASS_CCONFINEMENT_H
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/keyctl.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

/// Joins a new and empty session keyring (keyctl(2)); 0, or -1 with errno.
static inline int iampass_leave_keyring(void) {
  return syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 ? -1 : 0;
}

/// Whether the thread has no effective, permitted or inheritable capability. Does not look at the bounding set.
static inline int iampass_has_no_capabilities(void) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct sets[2];
  if (syscall(SYS_capget, &header, sets) != 0) return 0;
  for (int half = 0; half < 2; half++)
    if (sets[half].effective || sets[half].permitted || sets[half].inheritable) return 0;
  return 1;
}
/// Drops all capabilities; 0, or -1 with errno.
static inline int iampass_drop_capabilities(void) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct sets[2];
  memset(sets, 0, sizeof sets);
  return (int)syscall(SYS_capset, &header, sets);
}
/// Empties the bounding set (capabilities(7)); 0, or -1 with errno.
static inline int iampass_drop_bounding_set(void) {
  for (unsigned long capability = 0; capability < 64; capability++) {
    int is_there = prctl(PR_CAPBSET_READ, capability, 0, 0, 0);
    if (is_there < 0 && errno == EINVAL) return 0;
    if (is_there != 0 && prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0) return -1;
  }
  return 0;
}

// landlock(7). The newest kernel's structures are copied here: a build's headers may be older than the kernel.

/// The kernel's landlock version; -1 with errno.
static inline int iampass_landlock_version(void) { return (int)syscall(444, NULL, 0, 1); }
/// Makes rules that forbid what they handle; a descriptor, or -1 with errno.
static inline int iampass_landlock_rules(uint64_t files, uint64_t network, uint64_t scoped) {
  struct { uint64_t files, network, scoped; } handled = {files, network, scoped};
  return (int)syscall(444, &handled, sizeof handled, 0);
}
/// Allows `access` to the file of `descriptor`, or beneath its folder.
static inline int iampass_landlock_allow(int rules, int descriptor, uint64_t access) {
  struct { uint64_t access; int32_t descriptor; } __attribute__((packed)) beneath = {access, descriptor};
  return (int)syscall(445, rules, 1, &beneath, 0);
}
/// Applies to this thread and all its descendants.
static inline int iampass_landlock_enter(int rules) { return (int)syscall(446, rules, 0); }

/// One rule: allows a system call, or answers it with `error`. Each condition is `argument & mask == value`.
typedef struct {
  unsigned int argument;
  uint64_t mask, value;
} iampass_condition;
static inline int iampass_filter_rule(
    scmp_filter_ctx filter, int call, int error, const iampass_condition *conditions, unsigned int count) {
  struct scmp_arg_cmp compared[4];
  if (count > 4) return -E2BIG;
  for (unsigned int index = 0; index < count; index++)
    compared[index] = (struct scmp_arg_cmp){
        conditions[index].argument, SCMP_CMP_MASKED_EQ, conditions[index].mask, conditions[index].value};
  return seccomp_rule_add_array(filter, error ? SCMP_ACT_ERRNO((uint32_t)error) : SCMP_ACT_ALLOW, call, count, compared);
}
/// Answers a system call with `error` if an argument is greater than `value`.
static inline int iampass_filter_above(
    scmp_filter_ctx filter, int call, int error, unsigned int argument, uint64_t value) {
  struct scmp_arg_cmp compared = {argument, SCMP_CMP_GT, value, 0};
  return seccomp_rule_add_array(filter, SCMP_ACT_ERRNO((uint32_t)error), call, 1, &compared);
}
/// A filter that answers ENOSYS to every system call without a rule.
static inline scmp_filter_ctx iampass_filter_begin(void) { return seccomp_init(SCMP_ACT_ERRNO(ENOSYS)); }

/// Writes the filter in the kernel's form; its length in bytes, or -1. A filter must fit into a pipe.
static inline ssize_t iampass_filter_export(scmp_filter_ctx filter, void *bytes, size_t room) {
  int ends[2];
  if (pipe(ends) != 0) return -1;
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  ssize_t count = seccomp_export_bpf(filter, ends[1]) == 0 ? read(ends[0], bytes, room) : -1;
  close(ends[0]);
  close(ends[1]);
  return count;
}
/// Applies to this thread and all its descendants, for good.
static inline int iampass_filter_install(const void *bytes, size_t count) {
  struct sock_fprog program = {(unsigned short)(count / sizeof(struct sock_filter)), (struct sock_filter *)bytes};
  return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

// clone(2) takes its flags first, except on s390.
#if defined(__s390__)
#define IAMPASS_CLONE_FLAGS 1
#else
#define IAMPASS_CLONE_FLAGS 0
#endif
enum {
  iampass_clone_thread = 0x00010000,
  /// All flags that make namespaces and that clone(2) itself accepts.
  iampass_clone_namespaces = 0x7E020000,
};

/// Writes one line to the system's log. Never waits: the line is lost if the log does not take it.
static inline void iampass_note(const char *line, size_t count) {
  struct sockaddr_un log = {.sun_family = AF_UNIX, .sun_path = "/dev/log"};
  int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return;
  sendto(descriptor, line, count, MSG_NOSIGNAL, (struct sockaddr *)&log, sizeof log);
  close(descriptor);
}
#endif
