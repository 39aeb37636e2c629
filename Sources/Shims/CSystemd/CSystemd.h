// Why this shim: SwiftPM imports a C library by a header of ours. Swift cannot make the bus's variadic calls.
// sd_bus_message_append_basic and sd_bus_message_read_basic are enough for our few arguments.
#ifndef IAMPASS_CSYSTEMD_H
#define IAMPASS_CSYSTEMD_H
#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>
#endif
