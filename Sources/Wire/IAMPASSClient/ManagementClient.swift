import HostSystem
import IAMPASSProtocol
import WorkerLink

/// The service's `management/*` routes, for an application's own credential.
///
/// A service that signs its replies is `iampass-server`, of any version. The signed address tells it the digest of each
/// body and asks for sealed links. Versions that know neither ignore both.
public final class ManagementClient {
  private let channel: SignedChannel
  private let signer: RequestSigner
  private let applicationID: String

  /// - Throws: if the secret does not fit the signing scheme.
  public init(
    settings: ServiceSettings, credential: ServiceCredential, transport: any HTTPTransport,
    unixTime: @escaping () -> Int64
  ) throws(SigningError) {
    let seal = RequestSeal(settings: settings, credential: credential, unixTime: unixTime)
    channel = SignedChannel(seal: seal, transport: transport)
    signer = try RequestSigner(clientID: credential.applicationID, secret: credential.secret, scheme: settings.scheme)
    applicationID = credential.applicationID
  }

  /// Adds these tokens at the service. The reply's `existing` names those that it already had.
  ///
  /// - Parameter names: what people call some of these users; see ``AddUsersRequest/Name``. Names that a service would
  ///   refuse are left out. If the service does not sign its replies, all names are left out: it may not be
  ///   `iampass-server`.
  public func addUsers(
    _ tokens: [Secret], called names: [(token: Secret, name: String)] = [], deadline: MonotonicInstant
  ) throws(ServiceError) -> AddUsersReply {
    // Several users may share a token, and an object must not repeat a member.
    var seen: Set<String> = []
    let named = (isOurs ? names : []).lazy.map { AddUsersRequest.Name(user: $0.token.exposedValue, text: $0.name) }
      .filter { $0.isFit && seen.insert($0.user).inserted }
    let body = AddUsersRequest(users: tokens.map(\.exposedValue), names: Array(named)).encoded()
    let reply = try channel.send(.post, route("add_users", body: body), by: signer, body: body, deadline: deadline)
    return try understood { () throws(MessageError) in try AddUsersReply(parsing: reply.body) }
  }

  public func deleteUsers(_ tokens: [Secret], deadline: MonotonicInstant) throws(ServiceError) {
    let body = UsersRequest(users: tokens.map(\.exposedValue)).encoded()
    let url = route("delete_users", body: body)
    try acknowledged(try channel.send(.post, url, by: signer, body: body, deadline: deadline))
  }

  /// Returns a link by which one phone can register for this user, once.
  public func deviceRegistrationLink(
    token: Secret, displayName: String?, deadline: MonotonicInstant
  ) throws(ServiceError) -> String {
    try link("device_registration_link", token, displayName, deadline: deadline).link
  }

  /// The result for a lost phone.
  public struct LostDevice: Sendable, Equatable {
    /// The registration link of a new phone.
    public let link: String
    /// The number of the user's sessions that were ended; nil if that was not asked for, or the service does not
    /// support it.
    public let endedSessions: Int64?
  }

  /// Revokes the user's phones, and returns the link for a new one.
  ///
  /// - Parameters:
  ///   - displayName: nil keeps the name that the phone had.
  ///   - sessions: the sessions to end; nil: all go on.
  ///   - phone: the lost phone's id, from ``phones(of:deadline:)``; nil: all of the user's phones.
  public func lostUserMobileDevice(
    token: Secret, displayName: String?, sessions: LostDeviceSessions? = nil, phone: String? = nil,
    deadline: MonotonicInstant
  ) throws(ServiceError) -> LostDevice {
    let lost = phone.map { [(LostDeviceSessions.phoneName, PercentEncoding.encode($0))] } ?? []
    return try link("lost_user_mobile_device", token, displayName, sessions, lost, deadline: deadline)
  }

  public func hasRegisteredMobileDevice(token: Secret, deadline: MonotonicInstant) throws(ServiceError) -> Bool {
    let url = route("has_registered_mobile_device", token)
    let reply = try channel.send(.get, url, by: signer, deadline: deadline)
    return try understood { () throws(MessageError) in try DeviceRegisteredReply(parsing: reply.body) }.isRegistered
  }

  /// The keys of the user's phones, as the service has them. The service cannot prove that they are the phones' own.
  ///
  /// - Throws: ``ServiceError/notFound`` for a user whom the service does not know, and by a service without this route.
  public func phones(of token: Secret, deadline: MonotonicInstant) throws(ServiceError) -> UserPhonesReply {
    let reply = try channel.send(.get, route("user_phones", token), by: signer, deadline: deadline)
    return try understood { () throws(MessageError) in try UserPhonesReply(parsing: reply.body) }
  }

  /// Has the service send the registration link by SMS, to a number with country code.
  public func sendRegistrationSMS(
    token: Secret, message: RegistrationMessageRequest, deadline: MonotonicInstant
  ) throws(ServiceError) {
    let body = message.encoded()
    let url = route("send_registration_sms", token, body: body)
    try acknowledged(try channel.send(.post, url, by: signer, body: body, deadline: deadline))
  }

  private func link(
    _ name: String, _ token: Secret, _ displayName: String?, _ sessions: LostDeviceSessions? = nil,
    _ further: [(String, String)] = [], deadline: MonotonicInstant
  ) throws(ServiceError) -> LostDevice {
    let query = displayName.map { [("display_name", PercentEncoding.encode($0))] } ?? []
    guard isOurs else {
      let reply = try channel.send(.get, route(name, token, query: query + further), by: signer, deadline: deadline)
      let answer = try understood { () throws(MessageError) in try RegistrationLinkReply(parsing: reply.body) }
      return LostDevice(link: answer.registerURL, endedSessions: nil)
    }
    let ending = sessions?.query ?? []
    let asking = route(name, token, query: query + [SealedLinkReply.query] + ending + further)
    let sealed = try channel.seal.request(.get, asking, by: signer)
    let reply = try channel.exchange(sealed, deadline: deadline)
    let link = try channel.seal.link(in: reply, to: sealed)
    let ended = try understood { () throws(MessageError) in try LostDeviceSessions.ended(in: reply.body) }
    return LostDevice(link: link, endedSessions: sessions == nil ? nil : ended)
  }

  private var isOurs: Bool { channel.seal.settings.signedReplies }

  /// - Parameter body: what will be sent; the address then contains its digest.
  private func route(
    _ name: String, _ token: Secret? = nil, query: [(String, String)] = [], body: [UInt8]? = nil
  ) -> String {
    let segments = ["management", name, applicationID] + (token.map { [$0.exposedValue] } ?? [])
    let digest = isOurs ? body.map { [BodyDigest.item(for: $0)] } ?? [] : []
    return channel.seal.settings.server.route(segments, query: query + digest)
  }
}
