// Why this shim: SwiftPM imports C libraries by a header of ours. The bus is used without its variadic calls, which Swift
// cannot make: sd_bus_message_append_basic and sd_bus_message_read_basic do for the few arguments there are.
#ifndef IAMPASS_CSYSTEMD_H
#define IAMPASS_CSYSTEMD_H
#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>
#endif
