import Glibc

/// Notices to systemd, by sd_notify(3)'s protocol: a datagram of lines. Without systemd nothing is sent.
///
/// libsystemd is not used, because the service needs nothing else of it.
struct SystemdNotice: Sendable {
  /// The longest wait for systemd to read, in seconds.
  private static let patience = 5

  /// The socket's path; with @ at its beginning the name of an abstract socket.
  private let place: String?
  /// The pause between two signs of life; nil if systemd does not want any.
  let pause: Duration?

  init() {
    place = Self.variable("NOTIFY_SOCKET")
    let time = Self.variable("WATCHDOG_USEC").flatMap(Int64.init) ?? 0
    // The variables may be for a parent process.
    let isOurs = Self.variable("WATCHDOG_PID").map { $0 == "\(getpid())" } ?? true
    pause = place != nil && isOurs && time > 0 ? .microseconds(time / 3) : nil
  }

  /// Tells systemd that requests are answered from now on.
  func ready(_ status: String) { say("READY=1\nSTATUS=\(status)") }

  /// Tells systemd that the service stops. The stop does not wait for a systemd that reads nothing.
  func stopping(_ status: String) { say("STOPPING=1\nSTATUS=\(status)", flags: Int32(MSG_DONTWAIT)) }

  func alive() { say("WATCHDOG=1") }

  private func say(_ lines: String, flags: Int32 = 0) {
    guard let place, var address = Self.address(place) else { return }
    let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    var time = timeval(tv_sec: Self.patience, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    let length = socklen_t(MemoryLayout<sa_family_t>.size + place.utf8.count)
    _ = withUnsafePointer(to: &address) { pointer in
      // SAFETY: a sockaddr_un is a sockaddr, and lives until the call returns.
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        sendto(descriptor, lines, lines.utf8.count, Int32(MSG_NOSIGNAL) | flags, $0, length)
      }
    }
  }

  private static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

  private static func address(_ place: String) -> sockaddr_un? {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let isAbstract = place.hasPrefix("@")
    let isFit = withUnsafeMutableBytes(of: &address.sun_path) { path in
      guard isAbstract || place.hasPrefix("/"), place.utf8.count < path.count else { return false }
      path.copyBytes(from: place.utf8)
      if isAbstract { path[0] = 0 }
      return true
    }
    return isFit ? address : nil
  }
}
