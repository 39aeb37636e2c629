import CBluetooth
import Glibc
import PresenceLink

/// One look for one phone: a connection to its service discovery, which ends as soon as it stands.
final class Look {
  /// Milliseconds. A page that nobody answers takes 5.1 s.
  static let limit: Int64 = 8_000

  let request: ProbeRequest
  let began: Int64
  /// Readable or writable as soon as there is an answer; negative if there is one already.
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
      // It was refused here, so the phone has not been paged.
      answer = .notAsked(errno)
    }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  var deadline: Int64 { began + Self.limit }

  /// The answer, once there is one.
  ///
  /// - Parameter isReady: poll(2) says that the socket has news.
  func answer(isReady: Bool, now: Int64) -> ProbeAnswer? {
    if let answer { return answer }
    if isReady {
      let error = iampass_l2cap_error(descriptor)
      return error == 0 ? reached() : error < 0 ? .unknown("no-error") : ProbeAnswer(error: error)
    }
    return now >= deadline ? .unknown("probe-limit") : nil
  }

  /// The connection stands. The kernel has checked the key, which is seen once more by the level.
  private func reached() -> ProbeAnswer {
    iampass_l2cap_level(descriptor) >= Int32(request.level.number) ? .near : .unknown("low-security")
  }
}
