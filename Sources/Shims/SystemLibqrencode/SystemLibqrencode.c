#include "SystemLibqrencode.h"

#include <dlfcn.h>

#include <qrencode.h>

int iampass_qr_code(const char *text, unsigned char modules[IAMPASS_QR_GREATEST * IAMPASS_QR_GREATEST]) {
  // Debian 12 and 13 have this one.
  void *handle = dlopen("libqrencode.so.4", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == NULL) return 0;
  __typeof__(QRcode_encodeString8bit) *encode =
    (__typeof__(QRcode_encodeString8bit) *)dlsym(handle, "QRcode_encodeString8bit");
  __typeof__(QRcode_free) *release = (__typeof__(QRcode_free) *)dlsym(handle, "QRcode_free");
  if (encode == NULL || release == NULL) return 0;
  // Level L: a screen is not smudged, and fewer modules fit into more terminals.
  QRcode *code = encode(text, 0, QR_ECLEVEL_L);
  if (code == NULL) return 0;
  int side = code->width <= IAMPASS_QR_GREATEST ? code->width : 0;
  for (int place = 0; place < side * side; place++) modules[place] = code->data[place] & 1;
  release(code);
  return side;
}
