import DeviceProtocol
import GRDB
import IAMPASSProtocol

// How a phone becomes a user's phone: a link, shown as often as one likes and used once.

extension Service {
  /// Whose phone the link would make. Using it is another request, since previews and scanners fetch links too.
  func showLink(_ code: Secret) async throws -> ServiceReply {
    let now = clock()
    return try await storage.read { db in
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

  func registerDevice(_ call: Call) async throws -> ServiceReply {
    guard let request = try? RegisterRequest(parsing: call.request.body) else { return .refused(400, .badRequest) }
    // First, and by reading alone: a made-up code costs nothing more.
    let arrival = clock()
    if case .failure(let refusal) = try await storage.read({ db in
      try Registration.usable(request.code, at: arrival, in: db)
    }) {
      return refusal.reply
    }
    guard let key = try? DevicePublicKey(request.publicKey) else { return .refused(400, .badPublicKey) }
    var credential: VerifiedCredential?
    if let unverified = request.credential {
      let challenge = CredentialChallenge.bytes(for: request.code, publicKey: key.text)
      switch CredentialCheck(origin: call.address.url.origin).credential(unverified, challenge: challenge) {
      case .failure(let refusal): return refuseCredential(refusal)
      case .success(let verified): credential = verified
      }
    }
    let phone = NewPhone(id: try Fresh.identifier(), publicKey: key.text, credential: credential)
    let now = clock()
    let result = try await storage.write { db in
      try Registration.perform(request.code, phone, at: now, in: db)
    }
    switch result {
    case .failure(let refusal): return refusal.reply
    case .success(let registered):
      if let replaced = registered.replaced { audit.cutOff(phone: replaced, user: registered.user) }
      announceEnd(of: registered.closed)
      audit.registered(phone: phone.id, user: registered.user)
      board.changed(.user(registered.user))
      return ServiceReply(200, registered.reply.encoded())
    }
  }

  /// Gives a registered phone the method `device`, or another credential for it.
  func addCredential(_ call: Call) async throws -> ServiceReply {
    let verified: VerifiedStatement
    let ask: DeviceAsk
    switch try await deviceCheck.ask(in: call, purposes: [.credential]) {
    case .refused(let reply): return reply
    case .verified(let both): (verified, ask) = both
    }
    guard let statement = try? CredentialStatement(verified.statement) else { return .refused(400, .badRequest) }
    let challenge = CredentialChallenge.bytes(for: Secret(ask.nonce), publicKey: verified.phone.publicKey)
    let check = CredentialCheck(origin: call.address.url.origin)
    switch check.credential(statement.credential, challenge: challenge) {
    case .failure(let refusal): return refuseCredential(refusal)
    case .success(let credential):
      let now = clock()
      let refusal = try await storage.write { db -> DeviceRefusal? in
        guard try Phone.live(of: verified.user, in: db)?.id == verified.phone.id else { return .cutOff }
        let former = try VerifiedCredential.of(phone: verified.phone.id, in: db)
        if let refusal = check.refusal(of: verified, toReplace: former) { return refusal }
        try credential.insert(phone: verified.phone.id, at: now, in: db)
        return nil
      }
      if let refusal { return refusal.reply }
      audit.credentialAdded(phone: verified.phone.id, user: verified.user)
      board.changed(.user(verified.user))
      return try await describe(verified, presence: verified.phone.presence, at: now)
    }
  }

  private func refuseCredential(_ refusal: CredentialRefusal) -> ServiceReply {
    logger.info("credential refused", metadata: ["why": "\(refusal.rawValue)"])
    return .refused(400, .badCredential)
  }
}

extension CredentialCheck {
  /// The former credential agrees to be replaced: else who has the phone's key alone would make an authenticator of his
  /// own, and unlock with it.
  fileprivate func refusal(of verified: VerifiedStatement, toReplace former: VerifiedCredential?) -> DeviceRefusal? {
    guard let former else { return nil }
    guard let assertion = verified.assertion else { return DeviceRefusal(status: 403, reason: .assertionMissing) }
    let challenge = CredentialChallenge.bytes(for: verified.statement)
    switch self.assertion(assertion, by: former, challenge: challenge) {
    case .success: return nil
    case .failure(let detail): return DeviceRefusal(status: 403, reason: .assertionRefused, detail: detail)
    }
  }
}

/// A phone that asks to be registered.
private struct NewPhone: Sendable {
  let id: String
  let publicKey: String
  let credential: VerifiedCredential?
}

/// The steps of a registration, within one transaction.
private enum Registration {
  struct Refusal: Error {
    let status: Int
    let reason: Reason
    var reply: ServiceReply { .refused(status, reason) }
  }

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
    // Else whoever gets hold of a link takes over an account whose owner has a phone.
    guard link.replacesPhone || !isTaken else { return .failure(Refusal(status: 409, reason: .hasMobileDevice)) }
    let replaced = try Phone.cutOff(user: link.user, at: now, in: db)
    let closed = try Session.close(all: .unanswered, of: link.user, .phoneLost, at: now, in: db)
    try Phone.register(
      id: phone.id, user: link.user, publicKey: phone.publicKey, displayName: link.displayName, at: now, in: db)
    try phone.credential?.insert(phone: phone.id, at: now, in: db)
    try link.markUsed(at: now, in: db)
    // Else a link from before this phone could take its place.
    try Link.revokeReplacing(of: link.user, in: db)
    let reply = RegisterReply(
      device: phone.id, application: try Application.name(of: link.user, in: db), user: link.displayName,
      methods: phone.credential == nil ? [.acceptance] : [.acceptance, .device])
    return .success(Registered(user: link.user, replaced: replaced, closed: closed, reply: reply))
  }

}
