import GRDB
import IAMPASSProtocol

// What an application manages: its users and their phones.

extension Service {
  func addUsers(to application: Application, _ call: Call) async throws -> ServiceReply {
    guard let users = try? UsersRequest(parsing: call.request.body).users else { return .refused(400, .badRequest) }
    guard !users.isEmpty else { return .refused(200, .noUsers) }
    guard users.allSatisfy(User.isFit) else { return .refused(200, .badUserID) }
    let reply = try await storage.write { db in
      var created: [String] = []
      var existing: [String] = []
      // Each once: by bytes, as the database tells them apart.
      var seen: Set<[UInt8]> = []
      for user in users where seen.insert(Array(user.utf8)).inserted {
        let isNew = try User.add(user, application: application.id, in: db)
        if isNew { created.append(user) } else { existing.append(user) }
      }
      return AddUsersReply(created: created, existing: existing)
    }
    return ServiceReply(201, reply.encoded())
  }

  /// A user who is not there is no error: a call that is made again must succeed.
  func deleteUsers(of application: Application, _ call: Call) async throws -> ServiceReply {
    guard let users = try? UsersRequest(parsing: call.request.body).users else { return .refused(400, .badRequest) }
    guard !users.isEmpty else { return .refused(200, .noUsers) }
    let now = clock()
    let closed = try await storage.write { db in
      var closed: [Session] = []
      for name in users {
        guard let user = try User.find(name, application: application.id, in: db) else { continue }
        closed += try user.delete(at: now, in: db)
      }
      return closed
    }
    announceEnd(of: closed)
    return .done
  }

  func hasDevice(_ name: String, of application: Application) async throws -> ServiceReply {
    let isRegistered = try await storage.read { db -> Bool? in
      guard let user = try User.find(name, application: application.id, in: db) else { return nil }
      return try Phone.live(of: user.id, in: db) != nil
    }
    guard let isRegistered else { return .refused(404, .unknownUser) }
    return ServiceReply(200, DeviceRegisteredReply(isRegistered: isRegistered).encoded())
  }

  func makeLink(
    for name: String, of application: Application, _ call: Call, _ client: VerifiedClient
  ) async throws -> ServiceReply {
    guard let isSealed = call.wantsSealedLink else { return .refused(400, .badRequest) }
    let made = try await registrationLink(
      for: name, of: application.id, displayName: call.displayName, at: call.address)
    return try made.map { try linkReply($0, sealedFor: isSealed ? client : nil) } ?? .refused(404, .unknownUser)
  }

  func loseDevice(
    of name: String, of application: Application, _ call: Call, _ client: VerifiedClient
  ) async throws -> ServiceReply {
    guard let isSealed = call.wantsSealedLink else { return .refused(400, .badRequest) }
    let loss: PhoneLoss
    switch LostDeviceSessions.asked(in: call.target.query) {
    case .no: loss = .keepsSessions
    case .yes(let sessions): loss = .endsSessions(but: Set(sessions.kept))
    case .unclear: return .refused(400, .badRequest)
    }
    let made = try await registrationLink(
      for: name, of: application.id, displayName: call.displayName, losing: loss, at: call.address)
    return try made.map { try linkReply($0, sealedFor: isSealed ? client : nil) } ?? .refused(404, .unknownUser)
  }

  /// What becomes of what a lost phone approved; what it has not answered is closed.
  enum PhoneLoss: Sendable {
    case keepsSessions
    /// All of the user's end, but those with these ids.
    case endsSessions(but: Set<String>)

    func closes(_ session: Session) -> Bool {
      if session.lifecycle.isUnanswered { return true }
      if case .endsSessions(let kept) = self { return !kept.contains(session.id) }
      return false
    }
  }

  struct MadeLink: Sendable {
    let url: String
    /// Nil where that was not asked for.
    let endedSessions: Int64?
  }

  /// A new link, the only one of the user's that works: an older one may be in somebody else's hands. Nil where there is
  /// no such user.
  ///
  /// - Parameters:
  ///   - displayName: empty: of a lost phone its own.
  ///   - losing: cuts the phone off at once.
  func registrationLink(
    for name: String, of application: String, displayName: String, losing: PhoneLoss? = nil, at address: PublicAddress
  ) async throws -> MadeLink? {
    let code = Secret(try Fresh.identifier())
    let given = DisplayText.sanitized(displayName, limit: 100)
    let now = clock()
    let made = try await storage.write { db -> (user: Int64, phone: String?, closed: [Session])? in
      guard let user = try User.find(name, application: application, in: db) else { return nil }
      let former = losing == nil ? nil : try Phone.displayName(of: user.id, in: db)
      var phone: String?
      var closed: [Session] = []
      if let losing {
        phone = try Phone.cutOff(user: user.id, at: now, in: db)
        let meant = try Session.unended(of: user.id, in: db).filter(losing.closes)
        closed = try Session.close(meant, .phoneLost, at: now, in: db)
      }
      try Link.revokeAll(of: user.id, in: db)
      try Link.create(
        code: code, user: user.id, displayName: given.isEmpty ? former ?? "user" : given,
        replacesPhone: losing != nil, at: now, in: db)
      return (user.id, phone, closed)
    }
    guard let made else { return nil }
    if let phone = made.phone { audit.cutOff(phone: phone, user: made.user) }
    announceEnd(of: made.closed)
    if losing != nil { board.changed(.user(made.user)) }
    var ended: Int64?
    if case .endsSessions = losing {
      ended = Int64(made.closed.count { $0.lifecycle.approvedAt != nil && $0.lifecycle.ending == .phoneLost })
    }
    return MadeLink(url: address.url.route(["register", code.exposedValue]), endedSessions: ended)
  }

  /// Has the administrator's program send the link; the link comes last in the message.
  func sendMessage(to name: String, of application: Application, _ call: Call) async throws -> ServiceReply {
    let (isKnown, settings) = try await storage.read { db in
      (
        try User.find(name, application: application.id, in: db) != nil,
        try ApplicationSettings.of(application.id, in: db)
      )
    }
    guard isKnown else { return .refused(404, .unknownUser) }
    guard !settings.hook.isEmpty else { return .refused(200, .noTextMessages) }
    // Looked at again: it was stored long ago.
    if let problem = RegistrationHook.problem(with: settings.hook, in: programs) {
      logger.warning("no registration link was sent", metadata: ["file": "\(settings.hook)", "problem": "\(problem)"])
      return .refused(200, .messageNotSent)
    }
    guard let request = try? RegistrationMessageRequest(parsing: call.request.body) else {
      return .refused(400, .badRequest)
    }
    guard RegistrationHook.isNumber(request.phoneNumber) else { return .refused(200, .badPhoneNumber) }
    let words = request.message ?? "Register your phone for \(application.name):"
    guard words.utf8.count <= RegistrationHook.greatestMessage else { return .refused(400, .badRequest) }
    guard
      let link = try await registrationLink(
        for: name, of: application.id, displayName: request.displayName ?? "", at: call.address)
    else { return .refused(404, .unknownUser) }
    let isSent = await RegistrationHook.run(
      settings.hook, number: request.phoneNumber, message: words + " " + link.url)
    if !isSent {
      logger.warning("the program that sends registration links failed", metadata: ["file": "\(settings.hook)"])
    }
    return isSent ? .done : .refused(200, .messageNotSent)
  }

  private func linkReply(_ link: MadeLink, sealedFor client: VerifiedClient?) throws -> ServiceReply {
    guard let client else {
      let reply = RegistrationLinkReply(registerURL: link.url)
      return ServiceReply(200, reply.encoded(endedSessions: link.endedSessions))
    }
    let seal = LinkSeal(secret: client.replySecret, nonce: client.nonce)
    let text = seal.sealed(link.url, salt: try Fresh.bytes(LinkSeal.saltLength))
    return ServiceReply(200, SealedLinkReply.sealed(text).encoded(endedSessions: link.endedSessions))
  }

  /// Wakes who waits for these sessions, and their phones, and writes it down.
  func announceEnd(of sessions: [Session]) {
    for session in sessions {
      audit.closed(session)
      announceChange(of: session)
    }
  }

  func announceChange(of session: Session) {
    board.changed(.session(session.id))
    if let user = session.user { board.changed(.user(user)) }
  }
}

extension Call {
  /// What the registration shows for the user; the service knows no names.
  fileprivate var displayName: String { target.value("display_name") ?? "" }

  /// Whether the link is to be sealed; nil where that is asked for in words that are not understood.
  fileprivate var wantsSealedLink: Bool? {
    guard target.has(SealedLinkReply.query.name) else { return false }
    return target.value(SealedLinkReply.query.name) == SealedLinkReply.query.value ? true : nil
  }
}
