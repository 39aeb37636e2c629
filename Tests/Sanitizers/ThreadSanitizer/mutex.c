// Tells ThreadSanitizer what Swift's Mutex does where threads wait for each other. Its fast path is inlined, and so
// seen; the slow one is futex(2) in libswiftSynchronization, which is not instrumented: what one thread wrote before it
// let go would seem a race with the next. Linked by --wrap (Package.swift) with SANITIZE=thread alone.
//
// The names are those of Synchronization._MutexHandle's _lockSlow(_:), _tryLockSlow() and _unlockSlow(), which are part
// of that library's stable interface; `self` comes in the register of Swift's calling convention.

#include <stdbool.h>
#include <stdint.h>

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *mutex
#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define TRY_LOCK "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

// compiler-rt's sanitizer/tsan_interface.h.
void __tsan_acquire(void *address);
void __tsan_release(void *address);

SWIFT void really_lock(uint32_t thread, SELF) __asm__("__real_" LOCK);
SWIFT bool really_try_lock(SELF) __asm__("__real_" TRY_LOCK);
SWIFT void really_unlock(SELF) __asm__("__real_" UNLOCK);

SWIFT void seen_lock(uint32_t thread, SELF) __asm__("__wrap_" LOCK);
SWIFT bool seen_try_lock(SELF) __asm__("__wrap_" TRY_LOCK);
SWIFT void seen_unlock(SELF) __asm__("__wrap_" UNLOCK);

SWIFT void seen_lock(uint32_t thread, SELF) {
  really_lock(thread, mutex);
  __tsan_acquire(mutex);
}

SWIFT bool seen_try_lock(SELF) {
  const bool locked = really_try_lock(mutex);
  if (locked) __tsan_acquire(mutex);
  return locked;
}

SWIFT void seen_unlock(SELF) {
  __tsan_release(mutex);
  really_unlock(mutex);
}
