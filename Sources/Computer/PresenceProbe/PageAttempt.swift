import CBluetooth
import Glibc
import PresenceLink

/// One attempt to page a phone: a connection to its service discovery, which is closed once it is made.
final class PageAttempt {
  /// The longest time of a look in milliseconds. A page without an answer takes 5.1 s.
  static let limit: Int64 = 8_000

  let request: ProbeRequest
  let began: Int64
  /// Readable or writable once there is an answer; negative if there already is one.
  let descriptor: Int32
  private var answer: ProbeAnswer?

  init(_ request: ProbeRequest, now: Int64) {
    self.request = request
    began = now
    descriptor = iampass_l2cap_socket(request.adapter.octets, request.level.number)
    guard descriptor >= 0 else {
      answer = .notAsked(errno)
      return
    }
    if iampass_l2cap_connect(descriptor, request.phone.octets) == 0 {
      answer = reached()
    } else if errno != EINPROGRESS {
      // This computer refused the connection, so the phone was not paged.
      answer = .notAsked(errno)
    }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  var deadline: Int64 { began + Self.limit }

  /// The answer, once there is one.
  ///
  /// - Parameter isReady: whether poll(2) reports an event of the socket.
  func answer(isReady: Bool, now: Int64) -> ProbeAnswer? {
    if let answer { return answer }
    if isReady {
      let error = iampass_l2cap_error(descriptor)
      return error == 0 ? reached() : error < 0 ? .unknown("no-error") : ProbeAnswer(error: error)
    }
    return now >= deadline ? .unknown("probe-limit") : nil
  }

  /// The connection is made. The kernel has checked the key, and the security level confirms it.
  private func reached() -> ProbeAnswer {
    iampass_l2cap_level(descriptor) >= Int32(request.level.number) ? .near : .unknown("low-security")
  }
}
