// Why this shim: the kernel's Bluetooth sockets are described in libbluetooth's headers alone. Linking that library, or
// installing its headers, for one address and four numbers would be more to trust than these lines. The numbers are the
// kernel's ABI (net/bluetooth/bluetooth.h, net/bluetooth/l2cap.h).
#ifndef IAMPASS_CBLUETOOTH_H
#define IAMPASS_CBLUETOOTH_H
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
  IAMPASS_AF_BLUETOOTH = 31,
  IAMPASS_BTPROTO_L2CAP = 0,
  IAMPASS_SOL_BLUETOOTH = 274,
  IAMPASS_BT_SECURITY = 4,
  /// The multiplexer of the service discovery protocol, which every phone answers at.
  IAMPASS_PSM_SDP = 1,
};

struct iampass_l2cap_address {
  sa_family_t family;
  /// Little-endian.
  uint16_t psm;
  /// Little-endian: the last octet of the written address comes first.
  uint8_t address[6];
  uint16_t cid;
  /// 0: BR/EDR.
  uint8_t kind;
};

struct iampass_bluetooth_security {
  uint8_t level;
  uint8_t key_size;
};

static inline struct iampass_l2cap_address iampass_l2cap(const uint8_t written[6], uint16_t psm) {
  struct iampass_l2cap_address made;
  memset(&made, 0, sizeof made);
  made.family = IAMPASS_AF_BLUETOOTH;
  // The same on hosts of either byte order.
  uint8_t bytes[2] = {(uint8_t)(psm & 0xff), (uint8_t)(psm >> 8)};
  memcpy(&made.psm, bytes, 2);
  for (int place = 0; place < 6; place++) made.address[place] = written[5 - place];
  return made;
}

/// A socket of the adapter with this address that connects with at least this security level. Negative: errno says why.
static inline int iampass_l2cap_socket(const uint8_t adapter[6], uint8_t level) {
  int made = socket(IAMPASS_AF_BLUETOOTH, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, IAMPASS_BTPROTO_L2CAP);
  if (made < 0) return -1;
  struct iampass_l2cap_address own = iampass_l2cap(adapter, 0);
  struct iampass_bluetooth_security security = {level, 0};
  if (bind(made, (const struct sockaddr *)&own, sizeof own) != 0 ||
      setsockopt(made, IAMPASS_SOL_BLUETOOTH, IAMPASS_BT_SECURITY, &security, sizeof security) != 0) {
    int why = errno;
    close(made);
    errno = why;
    return -1;
  }
  return made;
}

/// As connect(2), to a phone's service discovery.
static inline int iampass_l2cap_connect(int made, const uint8_t phone[6]) {
  struct iampass_l2cap_address peer = iampass_l2cap(phone, IAMPASS_PSM_SDP);
  return connect(made, (const struct sockaddr *)&peer, sizeof peer);
}

/// The error with which a connection attempt ended; 0 if the connection stands. Negative: nobody knows.
static inline int iampass_l2cap_error(int made) {
  int error = -1;
  socklen_t size = sizeof error;
  return getsockopt(made, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : -1;
}

/// The security level of a connection; negative if nobody knows.
static inline int iampass_l2cap_level(int made) {
  struct iampass_bluetooth_security security = {0, 0};
  socklen_t size = sizeof security;
  return getsockopt(made, IAMPASS_SOL_BLUETOOTH, IAMPASS_BT_SECURITY, &security, &size) == 0 ? security.level : -1;
}
#endif
