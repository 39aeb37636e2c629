import DeviceProtocol
import IAMPASSProtocol

/// Registers a phone for a user, with a link that may be opened often but is used once.
struct RegistrationReplies: Sendable {
  let core: ServiceCore
  /// The push services that may be used.
  let pushTrust: PushTrust

  /// Leads browsers to the page, which then asks for the link's data. Other programs get the data at once.
  func openLink(_ code: String, _ call: Call) async throws -> ServiceReply {
    let reply = call.request.wantsPage ? ServiceReply.page(.phone, call) : try await showLink(Secret(code))
    return reply.adding("Vary", "Accept")
  }

  /// Shows which user the phone will belong to. Using the link is another request: previews and scanners fetch links too.
  private func showLink(_ code: Secret) async throws -> ServiceReply {
    let now = core.clock()
    let found = try await link(code)
    switch Registration.usable(found?.link, at: now) {
    case .failure(let refusal): return refusal.reply
    case .success(let link):
      let reply = LinkReply(
        application: found?.application ?? "", user: link.displayName,
        secondsLeft: link.expiresAt.milliseconds(since: now) / 1_000)
      return ServiceReply(200, reply.encoded())
    }
  }

  func register(_ call: Call) async throws -> ServiceReply {
    guard let request = try? RegisterRequest(parsing: call.request.body) else { return .refused(.badRequest) }
    // This is first and does not write, so that an invented code costs little.
    let arrival = core.clock()
    let link = Registration.usable(try await link(request.code)?.link, at: arrival)
    if case .failure(let refusal) = link { return try await reply(to: refusal, of: request) }
    switch try newPhone(request, call) {
    case .failure(let refusal): return reply(to: refusal)
    case .success(let phone):
      let now = core.clock()
      let result = try await AuditActor.$current.withValue(.phone(phone.id)) {
        try await core.storage.register(phone, by: request.code, at: now) {
          Registration.decide($0, phone.credential, at: now)
        }
      }
      switch result {
      case .failure(let refusal): return try await reply(to: refusal, of: request)
      case .success(let registered): return announce(registered, phone)
      }
    }
  }

  /// The link with this code; nil if there is none, or if the code is malformed.
  private func link(_ code: Secret) async throws -> (link: Link, application: String)? {
    RandomValue.isIdentifier(code.exposedValue) ? try await core.storage.link(code) : nil
  }

  private func newPhone(_ request: RegisterRequest, _ call: Call) throws -> Result<NewPhone, Refusal> {
    guard let key = try? DevicePublicKey(request.publicKey) else {
      return .failure(Refusal(.badPublicKey))
    }
    var credential: VerifiedCredential?
    if let unverified = request.credential {
      let challenge = CredentialChallenge.bytes(for: request.code, publicKey: key.text)
      switch CredentialCheck(origin: call.address.url.origin).credential(unverified, challenge: challenge) {
      case .failure(let detail): return .failure(.badCredential(detail))
      case .success(let verified): credential = verified
      }
    }
    if let way = request.way, !pushTrust.allows(way) {
      return .failure(Refusal(.badSubscription))
    }
    return .success(
      NewPhone(
        id: try RandomValue.identifier(), publicKey: key.text, credential: credential, pinMAC: request.pinMAC,
        way: request.way, name: request.name))
  }

  private func announce(_ registered: RegisteredPhone, _ phone: NewPhone) -> ServiceReply {
    for replaced in registered.replaced { core.audit.cutOff(phone: replaced, user: registered.user) }
    core.announceEnd(of: registered.closed)
    core.audit.registered(phone: phone.id, user: registered.user)
    core.board.changed(.user(registered.user))
    let reply = RegisterReply(
      device: phone.id, application: registered.application, user: registered.displayName, credential: phone.credential)
    return ServiceReply(200, reply.encoded())
  }

  /// Refuses the registration. A phone that this link registered with these very keys gets its reply again: the first
  /// one may have been lost. This changes nothing, and tells no more than the first reply did.
  private func reply(to refusal: Refusal, of request: RegisterRequest) async throws -> ServiceReply {
    guard refusal.reason == .linkUsed, let made = try await core.storage.phone(registeredBy: request.code),
      core.clock() < made.link.expiresAt, made.hasKeys(of: request)
    else { return refusal.reply }
    let reply = RegisterReply(
      device: made.phone.id, application: made.application, user: made.link.displayName, credential: made.credential)
    return ServiceReply(200, reply.encoded())
  }

  /// Gives a registered phone the method `device`, or another credential for it.
  func addCredential(_ call: Call) async throws -> ServiceReply {
    try await core.answering(call, [.credential]) { verified, ask in
      guard let statement = try? CredentialStatement(verified.statement) else { return .refused(.badRequest) }
      let challenge = CredentialChallenge.bytes(for: Secret(ask.nonce), publicKey: verified.phone.publicKey)
      let check = CredentialCheck(origin: call.address.url.origin)
      switch check.credential(statement.credential, challenge: challenge) {
      case .failure(let detail): return reply(to: .badCredential(detail))
      case .success(let credential):
        let now = core.clock()
        let refusal = try await core.storage.keepCredential(
          credential, pinMAC: statement.pinMAC, of: verified.acting, at: now
        ) { phone in
          guard phone.isLive else { return .cutOff }
          return credential.refusal(ifSyncedAreAccepted: phone.acceptsSyncedPasskeys)
            ?? check.refusal(of: verified, toReplace: phone.credential)
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
    Refusal(.badCredential, detail: detail)
  }
}

extension RegisterReply {
  fileprivate init(device: String, application: String, user: String, credential: VerifiedCredential?) {
    self.init(
      device: device, application: application, user: user,
      methods: credential == nil ? [.acceptance] : [.acceptance, .device])
  }
}

extension LinkedPhone {
  /// Whether the request has the phone's key, and its screen lock's credential or none as the phone. A credential that
  /// the phone got later is not the request's.
  fileprivate func hasKeys(of request: RegisterRequest) -> Bool {
    guard (try? DevicePublicKey(request.publicKey))?.text == phone.publicKey else { return false }
    guard let sent = request.credential else { return credential == nil }
    return credential?.id == Base64URL.encode(sent.id)
      && credential?.publicKey == (try? DevicePublicKey(sent.publicKey))?.text
  }
}

extension VerifiedCredential {
  /// Why the application does not take it; nil if it does.
  fileprivate func refusal(ifSyncedAreAccepted acceptsSynced: Bool) -> Refusal? {
    acceptsSynced || isBackupEligible == false ? nil : Refusal(.syncedPasskey)
  }
}

extension CredentialCheck {
  /// The former credential must sign its own replacement. Otherwise a thief of only the phone's key could register
  /// another authenticator, and unlock with it. A synced one may, whatever the application accepts: it is the way out.
  fileprivate func refusal(of verified: VerifiedStatement, toReplace former: VerifiedCredential?) -> Refusal? {
    guard let former else { return nil }
    guard let assertion = verified.assertion else { return Refusal(.assertionMissing) }
    let challenge = CredentialChallenge.bytes(for: verified.statement)
    switch self.assertion(assertion, by: former, challenge: challenge) {
    case .success: return nil
    case .failure(let detail): return Refusal(.assertionRefused, detail: detail)
    }
  }
}

/// Whether a registration link may be used.
private enum Registration {
  /// - Parameter link: nil for an unknown code.
  static func usable(_ link: Link?, at now: UnixTime) -> Result<Link, Refusal> {
    guard let link else { return .failure(Refusal(.unknownLink)) }
    guard !link.isUsed else { return .failure(Refusal(.linkUsed)) }
    guard now < link.expiresAt else { return .failure(Refusal(.linkExpired)) }
    return .success(link)
  }

  static func decide(
    _ facts: LinkFacts, _ credential: VerifiedCredential?, at now: UnixTime
  ) -> Result<Link, Refusal> {
    usable(facts.link, at: now).flatMap { link in
      // The link stays usable: without a credential, or by another phone.
      if let refusal = credential?.refusal(ifSyncedAreAccepted: facts.acceptsSyncedPasskeys) {
        return .failure(refusal)
      }
      // All phones that the link replaces are lost.
      if link.replacesPhone, link.lostPhone == nil { return .success(link) }
      // Otherwise a thief of a link could take over an account whose owner has a phone.
      let others = facts.phones.filter { $0 != link.lostPhone }
      return others.isEmpty || others.count < facts.greatestCount
        ? .success(link) : .failure(Refusal(.hasMobileDevice))
    }
  }
}
