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
    guard let key = try? DevicePublicKey(request.publicKey) else { return .refused(400, .badPublicKey) }
    let phone = try Fresh.identifier()
    let now = clock()
    let result = try await storage.write { db in
      try Registration.perform(request.code, phone: phone, publicKey: key.text, at: now, in: db)
    }
    switch result {
    case .failure(let refusal): return refusal.reply
    case .success(let registered):
      if let replaced = registered.replaced { audit.cutOff(phone: replaced, user: registered.user) }
      announceEnd(of: registered.closed)
      audit.registered(phone: phone, user: registered.user)
      board.changed(.user(registered.user))
      return ServiceReply(200, registered.reply.encoded())
    }
  }
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
    _ code: Secret, phone: String, publicKey: String, at now: UnixTime, in db: Database
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
      id: phone, user: link.user, publicKey: publicKey, displayName: link.displayName, at: now, in: db)
    try link.markUsed(at: now, in: db)
    let reply = RegisterReply(
      device: phone, application: try Application.name(of: link.user, in: db), user: link.displayName)
    return .success(Registered(user: link.user, replaced: replaced, closed: closed, reply: reply))
  }

}
