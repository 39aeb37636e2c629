// Looks by Bluetooth whether a bonded phone is near, for root, who asks at a socket. It has no privileges and reads no
// files; it says what it found and decides nothing.
//
//   iampass-presence    descriptor 3 listens (systemd's iampass-presence.socket)
import CHost
import Glibc
import PresenceProbe

let given: Int32 = 3
guard CommandLine.arguments.count == 1, iampass_is_listening(given) == 1 else {
  let text = Array(
    "iampass-presence: systemd starts this program\nhint: systemctl start iampass-presence.socket\n".utf8)
  _ = iampass_write(2, text, text.count)
  _exit(EX_USAGE)
}
ProbeService(listening: given).run()
