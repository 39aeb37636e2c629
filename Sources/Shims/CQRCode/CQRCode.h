// Why this shim: SwiftPM needs a header of its own to find libqrencode by pkg-config.
#ifndef IAMPASS_CQRCODE_H
#define IAMPASS_CQRCODE_H
#include <qrencode.h>
#endif
