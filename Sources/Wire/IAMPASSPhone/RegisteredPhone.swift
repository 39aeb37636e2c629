import DeviceProtocol
import Glibc
import IAMPASSProtocol
import WorkerLink

/// One account of this phone, and its service. Only one thread may use it.
///
/// Each method sends one signed request and waits for its reply. The wait is at most 15 s longer than the service may
/// hold the reply.
public final class RegisteredPhone {
  /// The longest time that a service may hold a listing, in seconds. A proxy may wait only 30 s.
  public static let holdTime: Int64 = 20

  public let account: PhoneAccount
  private let service: PhoneService

  /// - Parameter transport: a transport to ``PhoneAccount/server`` that trusts ``PhoneAccount/authority``.
  public init(account: PhoneAccount, transport: any HTTPTransport) {
    self.account = account
    service = PhoneService(server: account.server, transport: transport)
  }

  /// The phone's user, presence and live sessions. The service notes that the phone is there.
  public func status() throws(PhoneError) -> DeviceStatusReply {
    try described(by: ask(.status, DeviceRoute.status))
  }

  /// Says that the phone leaves its user's computers. Unless ``DeviceStatusReply/walksAway`` is false, active sessions
  /// become `walkaway`, and computers lock or log out.
  public func leave() throws(PhoneError) -> DeviceStatusReply {
    try described(by: ask(.leave, DeviceRoute.presence))
  }

  /// Says that the phone is back: all `walkaway` sessions become active again.
  public func comeBack() throws(PhoneError) -> DeviceStatusReply {
    try described(by: ask(.return, DeviceRoute.presence))
  }

  /// Logs the user out of all these sessions, or of none if the service does not know one of them.
  ///
  /// - Parameter sessions: 1 to ``EndStatement/greatestCount`` ids, as ``LiveSession/session``.
  public func end(_ sessions: [String]) throws(PhoneError) -> DeviceStatusReply {
    let statement = EndStatement(ask: try newAsk(.end), sessions: sessions)
    return try described(by: post(statement.json, DeviceRoute.end))
  }

  /// Unregisters this phone: its key approves nothing from now on. Sessions go on. Remove the account afterwards
  /// (``PhoneStorage/remove(_:)``).
  ///
  /// Also returns if the service has already unregistered the phone: the reply to an earlier attempt may be lost. If the
  /// reply to this one is, it asks once more.
  public func unregister() throws(PhoneError) {
    do throws(PhoneError) {
      do throws(PhoneError) {
        _ = try ask(.unregister, DeviceRoute.unregister)
      } catch .transport(let error) where error.code == .connectionLost || error.code == .silent {
        _ = try ask(.unregister, DeviceRoute.unregister)
      }
    } catch .refused(_, "DEVICE_CUT_OFF") {}
  }

  /// The open requests, the oldest first.
  ///
  /// - Parameters:
  ///   - known: ids of requests that are already shown, at most ``DeviceAsk/greatestKnownCount``.
  ///   - wait: seconds that the service may hold its reply while only `known` requests are open.
  public func requests(known: [String] = [], wait: Int64 = 0) throws(PhoneError) -> [OpenRequest] {
    try listing(known: known, wait: wait).requests
  }

  /// As ``requests(known:wait:)``, with the methods that a computer asked for and this phone lacks. The service replies
  /// at once if there is a new such method.
  public func listing(known: [String] = [], wait: Int64 = 0) throws(PhoneError) -> RequestsReply {
    let body = try ask(.requests, DeviceRoute.requests, known: known, wait: wait)
    return try understood { () throws(MessageError) in try RequestsReply(parsing: body) }
  }

  /// Tells the service how to ring this phone; nil: not to ring it. An app calls it whenever Apple or Google gives it
  /// another device token.
  public func update(push way: PushWay?) throws(PhoneError) {
    _ = try post(PushStatement(ask: try newAsk(.push), way: way).json, DeviceRoute.push)
  }

  /// Says whether this app vouches for its user's face from now on. Ask the user first.
  ///
  /// - Returns: the account, with `facial` among its methods.
  /// - Throws: ``PhoneError``: refused with `METHOD_NOT_AVAILABLE` unless the application lets apps do so.
  public func update(vouchesForFace: Bool) throws(PhoneError) -> DeviceStatusReply {
    try described(by: try ask(vouchesForFace ? .face : .noFace, DeviceRoute.face))
  }

  // MARK: - Requests

  func newAsk(_ purpose: DevicePurpose, known: [String] = []) throws(PhoneError) -> DeviceAsk {
    guard let nonce = Digest.randomIdentifier() else { throw .noRandomness }
    return DeviceAsk(
      origin: account.server.origin, device: account.device, purpose: purpose, timestamp: Int64(time(nil)),
      nonce: nonce, known: known)
  }

  func post(
    _ statement: JSON, _ path: [String], assertion: UnverifiedAssertion? = nil, wait: Int64 = 0
  ) throws(PhoneError) -> [UInt8] {
    let body = try keyed { () throws(DeviceKeyError) in
      try UnverifiedStatement.body(signing: statement, with: account.key, assertion: assertion)
    }
    return try service.post(path, body, wait: wait)
  }

  func described(by body: [UInt8]) throws(PhoneError) -> DeviceStatusReply {
    try understood { () throws(MessageError) in try DeviceStatusReply(parsing: body) }
  }

  private func ask(
    _ purpose: DevicePurpose, _ path: [String], known: [String] = [], wait: Int64 = 0
  ) throws(PhoneError) -> [UInt8] {
    try post(try newAsk(purpose, known: known).json, path, wait: wait)
  }
}
