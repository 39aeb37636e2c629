import DeviceProtocol
import GRDB
import IAMPASSProtocol

/// Makes a phone a user's phone, by a link that may be shown often and is used once.
struct RegistrationReplies: Sendable {
  let core: ServiceCore

  /// A link leads browsers to the page, which then asks for what the link says. Other programs are told at once.
  func openLink(_ code: String, _ call: Call) async throws -> ServiceReply {
    let reply = call.request.wantsPage ? ServiceReply.page(.phone, call) : try await showLink(Secret(code))
    return reply.adding("Vary", "Accept")
  }

  /// Shows which user the phone will belong to. Using the link is another request: previews and scanners fetch links too.
  private func showLink(_ code: Secret) async throws -> ServiceReply {
    let now = core.clock()
    return try await core.storage.read { db in
      switch try Registration.usable(code, at: now, in: db) {
      case .failure(let refusal): return refusal.reply
      case .success(let link):
        let reply = LinkReply(
          application: try Application.name(of: link.user, in: db), user: link.displayName,
          secondsLeft: link.expiresAt.milliseconds(since: now) / 1_000)
        return ServiceReply(200, reply.encoded())
      }
    }
  }

  func register(_ call: Call) async throws -> ServiceReply {
    guard let request = try? RegisterRequest(parsing: call.request.body) else { return .refused(400, .badRequest) }
    // First, and without a write: a made-up code costs no more than this.
    let arrival = core.clock()
    let link = try await core.storage.read { try Registration.usable(request.code, at: arrival, in: $0) }
    if case .failure(let refusal) = link { return refusal.reply }
    switch try newPhone(request, call) {
    case .failure(let refusal): return reply(to: refusal)
    case .success(let phone):
      let now = core.clock()
      let result = try await core.storage.write { try Registration.perform(request.code, phone, at: now, in: $0) }
      switch result {
      case .failure(let refusal): return refusal.reply
      case .success(let registered): return announce(registered, phone)
      }
    }
  }

  private func newPhone(_ request: RegisterRequest, _ call: Call) throws -> Result<NewPhone, Refusal> {
    guard let key = try? DevicePublicKey(request.publicKey) else {
      return .failure(Refusal(status: 400, reason: .badPublicKey))
    }
    var credential: VerifiedCredential?
    if let unverified = request.credential {
      let challenge = CredentialChallenge.bytes(for: request.code, publicKey: key.text)
      switch CredentialCheck(origin: call.address.url.origin).credential(unverified, challenge: challenge) {
      case .failure(let detail): return .failure(.badCredential(detail))
      case .success(let verified): credential = verified
      }
    }
    return .success(
      NewPhone(id: try RandomValue.identifier(), publicKey: key.text, credential: credential, pinMAC: request.pinMAC))
  }

  private func announce(_ registered: Registration.Registered, _ phone: NewPhone) -> ServiceReply {
    if let replaced = registered.replaced { core.audit.cutOff(phone: replaced, user: registered.user) }
    core.announceEnd(of: registered.closed)
    core.audit.registered(phone: phone.id, user: registered.user)
    core.board.changed(.user(registered.user))
    return ServiceReply(200, registered.reply.encoded())
  }

  /// Gives a registered phone the method `device`, or another credential for it.
  func addCredential(_ call: Call) async throws -> ServiceReply {
    try await core.answering(call, [.credential]) { verified, ask in
      guard let statement = try? CredentialStatement(verified.statement) else { return .refused(400, .badRequest) }
      let challenge = CredentialChallenge.bytes(for: Secret(ask.nonce), publicKey: verified.phone.publicKey)
      let check = CredentialCheck(origin: call.address.url.origin)
      switch check.credential(statement.credential, challenge: challenge) {
      case .failure(let detail): return reply(to: .badCredential(detail))
      case .success(let credential):
        let now = core.clock()
        let refusal = try await core.storage.write { db -> Refusal? in
          guard try verified.isLive(in: db) else { return .cutOff }
          let former = try VerifiedCredential.of(phone: verified.phone.id, in: db)
          if let refusal = check.refusal(of: verified, toReplace: former) { return refusal }
          try credential.insert(phone: verified.phone.id, at: now, in: db)
          // The former pin does not cover this credential.
          try Phone.setPinMAC(statement.pinMAC, of: verified.phone.id, in: db)
          return nil
        }
        if let refusal { return refusal.reply }
        core.audit.credentialAdded(phone: verified.phone.id, user: verified.user)
        core.board.changed(.user(verified.user))
        return try await core.describe(verified, presence: verified.phone.presence, at: now)
      }
    }
  }

  private func reply(to refusal: Refusal) -> ServiceReply {
    if let detail = refusal.detail {
      core.logger.info("credential refused", metadata: ["why": "\(detail.rawValue)"])
    }
    return refusal.reply
  }
}

extension Refusal {
  fileprivate static func badCredential(_ detail: CredentialRefusal) -> Refusal {
    Refusal(status: 400, reason: .badCredential, detail: detail)
  }
}

extension CredentialCheck {
  /// The former credential must sign its own replacement. Otherwise anyone who has only the phone's key could register
  /// an authenticator of their own, and unlock with it.
  fileprivate func refusal(of verified: VerifiedStatement, toReplace former: VerifiedCredential?) -> Refusal? {
    guard let former else { return nil }
    guard let assertion = verified.assertion else { return Refusal(status: 403, reason: .assertionMissing) }
    let challenge = CredentialChallenge.bytes(for: verified.statement)
    switch self.assertion(assertion, by: former, challenge: challenge) {
    case .success: return nil
    case .failure(let detail): return Refusal(status: 403, reason: .assertionRefused, detail: detail)
    }
  }
}

/// A phone that asks to be registered.
private struct NewPhone: Sendable {
  let id: String
  let publicKey: String
  let credential: VerifiedCredential?
  let pinMAC: String?
}

/// The steps of a registration, within one transaction.
private enum Registration {
  struct Registered: Sendable {
    let user: Int64
    let replaced: String?
    let closed: [Session]
    let reply: RegisterReply
  }

  static func usable(_ code: Secret, at now: UnixTime, in db: Database) throws -> Result<Link, Refusal> {
    guard let link = try Link.find(code: code, in: db) else {
      return .failure(Refusal(status: 404, reason: .unknownLink))
    }
    guard !link.isUsed else { return .failure(Refusal(status: 410, reason: .linkUsed)) }
    guard now < link.expiresAt else { return .failure(Refusal(status: 410, reason: .linkExpired)) }
    return .success(link)
  }

  static func perform(
    _ code: Secret, _ phone: NewPhone, at now: UnixTime, in db: Database
  ) throws -> Result<Registered, Refusal> {
    let link: Link
    switch try usable(code, at: now, in: db) {
    case .failure(let refusal): return .failure(refusal)
    case .success(let usable): link = usable
    }
    let isTaken = try Phone.live(of: link.user, in: db) != nil
    // Otherwise anyone who gets hold of a link could take over an account whose owner has a phone.
    guard link.replacesPhone || !isTaken else { return .failure(Refusal(status: 409, reason: .hasMobileDevice)) }
    let replaced = try Phone.cutOff(user: link.user, at: now, in: db)
    let closed = try Session.close(all: .unanswered, of: link.user, .phoneLost, at: now, in: db)
    try Phone.register(
      id: phone.id, user: link.user, publicKey: phone.publicKey, displayName: link.displayName, pinMAC: phone.pinMAC,
      at: now, in: db)
    try phone.credential?.insert(phone: phone.id, at: now, in: db)
    try link.markUsed(at: now, in: db)
    // Otherwise a link that is older than this phone could replace it.
    try Link.revokeReplacing(of: link.user, in: db)
    let reply = RegisterReply(
      device: phone.id, application: try Application.name(of: link.user, in: db), user: link.displayName,
      methods: phone.credential == nil ? [.acceptance] : [.acceptance, .device])
    return .success(Registered(user: link.user, replaced: replaced, closed: closed, reply: reply))
  }
}
