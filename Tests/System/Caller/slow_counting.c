// Widens the moment between reading a file of the limiter and writing it, which begins by lseek(2), in LD_PRELOAD of
// the PAM host. Without a lock around both, logins side by side would not see each other.

#include <sys/syscall.h>
#include <unistd.h>

enum { MICROSECONDS = 50000 };

off_t lseek(int descriptor, off_t offset, int whence) {
  usleep(MICROSECONDS);
  return syscall(SYS_lseek, descriptor, offset, whence);
}

off_t lseek64(int descriptor, off_t offset, int whence) { return lseek(descriptor, offset, whence); }
