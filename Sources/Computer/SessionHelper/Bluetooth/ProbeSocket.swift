import CHost
import Glibc
import HostSystem
import PresenceLink

/// The probe at its socket. All errors here are ``ProbeAnswer/unknown(_:)``: they do not count as a missed phone.
public final class ProbeSocket: PhoneProbe {
  /// The longest wait for an answer, in milliseconds. A look takes 8 s at most. An administrator's look may come first,
  /// with a pause for the phone after it.
  private static let patience: Int64 = 25_000
  /// How long a probe that did not answer is not asked again, in milliseconds. A stopped probe would otherwise delay
  /// the looks for all users, one wait after the other.
  private static let pause: Int64 = 10_000

  private let path: String
  private var connection: Int32 = -1
  private var asked: (phone: BluetoothAddress, deadline: Int64)?
  private var failure: String?
  private var pausesUntil: Int64 = 0

  public init(path: String = ProbeRequest.socket) { self.path = path }

  deinit { disconnect() }

  public var descriptor: Int32 { asked == nil ? -1 : connection }

  public var deadline: Int64? { failure == nil ? asked?.deadline : 0 }

  public func ask(_ request: ProbeRequest, at now: Int64) {
    // The answer to the earlier question would be taken for the new one's.
    if asked != nil { disconnect() }
    failure = now < pausesUntil ? "no-answer" : send(request)
    asked = failure == nil ? (request.phone, now + Self.patience) : nil
  }

  public func answer(at now: Int64) -> ProbeAnswer? {
    if let failure {
      self.failure = nil
      return .unknown(failure)
    }
    guard let asked else { return nil }
    var bytes = [UInt8](repeating: 0, count: PacketWords.greatest + 1)
    let count = recv(connection, &bytes, bytes.count, Int32(MSG_DONTWAIT))
    if count < 0, errno == EAGAIN || errno == EINTR {
      guard now >= asked.deadline else { return nil }
      pausesUntil = now + Self.pause
      return giveUp("no-answer")
    }
    guard count > 0 else { return giveUp("probe-gone") }
    guard let reply = ProbeReply(bytes: Array(bytes.prefix(count))), reply.phone == asked.phone else {
      return giveUp("bad-answer")
    }
    self.asked = nil
    return reply.answer
  }

  public func rest() {
    disconnect()
    (asked, failure) = (nil, nil)
  }

  private func giveUp(_ reason: String) -> ProbeAnswer {
    rest()
    return .unknown(reason)
  }

  private func disconnect() {
    if connection >= 0 { close(connection) }
    connection = -1
  }

  /// - Returns: why the question was not sent; nil if it was.
  private func send(_ request: ProbeRequest) -> String? {
    let question = request.bytes
    // The probe may have ended since the last question. Then systemd starts a new one.
    for _ in 0..<2 {
      if connection < 0, let reason = connect() { return reason }
      if Glibc.send(connection, question, question.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT)) == question.count {
        return nil
      }
      disconnect()
    }
    return "no-probe"
  }

  /// - Returns: why there is no connection; nil if there is one.
  private func connect() -> String? {
    do throws(PathFault) { _ = try SafePath.place(of: path) } catch {
      switch error.code {
      case .system, .notFolder: return "no-probe"
      case .ownedByAnother, .writableByOthers, .symbolicLink, .notAbsolute: return "foreign-socket"
      }
    }
    connection = iampass_connect_packets(path)
    guard connection >= 0 else { return "no-probe" }
    // systemd listens for the probe, as root. Answers of other users do not count.
    guard iampass_peer(connection).uid == 0 else {
      disconnect()
      return "foreign-socket"
    }
    return nil
  }
}
