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
      for user in users {
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
    let link = try await registrationLink(
      for: name, of: application.id, displayName: call.displayName, isLost: false, at: call.address)
    return try link.map { try linkReply($0, sealedFor: isSealed ? client : nil) } ?? .refused(404, .unknownUser)
  }

  func loseDevice(
    of name: String, of application: Application, _ call: Call, _ client: VerifiedClient
  ) async throws -> ServiceReply {
    guard let isSealed = call.wantsSealedLink else { return .refused(400, .badRequest) }
    let link = try await registrationLink(
      for: name, of: application.id, displayName: call.displayName, isLost: true, at: call.address)
    return try link.map { try linkReply($0, sealedFor: isSealed ? client : nil) } ?? .refused(404, .unknownUser)
  }

  /// A new link; nil where there is no such user.
  ///
  /// - Parameter isLost: cuts the phone off at once. What it approved goes on; what it has not answered is closed.
  func registrationLink(
    for name: String, of application: String, displayName: String, isLost: Bool, at address: PublicAddress
  ) async throws -> String? {
    let code = Secret(try Fresh.identifier())
    let shown = DisplayText.sanitized(displayName, limit: 100)
    let now = clock()
    let made = try await storage.write { db -> (user: Int64, phone: String?, closed: [Session])? in
      guard let user = try User.find(name, application: application, in: db) else { return nil }
      var phone: String?
      var closed: [Session] = []
      if isLost {
        phone = try Phone.cutOff(user: user.id, at: now, in: db)
        closed = try Session.close(all: .unanswered, of: user.id, .phoneLost, at: now, in: db)
        try Link.revokeAll(of: user.id, in: db)
      }
      try Link.create(
        code: code, user: user.id, displayName: shown.isEmpty ? "user" : shown, replacesPhone: isLost, at: now, in: db)
      return (user.id, phone, closed)
    }
    guard let made else { return nil }
    if let phone = made.phone { audit.cutOff(phone: phone, user: made.user) }
    announceEnd(of: made.closed)
    if isLost { board.changed(.user(made.user)) }
    return address.url.route(["register", code.exposedValue])
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
        for: name, of: application.id, displayName: request.displayName ?? "", isLost: false, at: call.address)
    else { return .refused(404, .unknownUser) }
    let isSent = await RegistrationHook.run(
      settings.hook, number: request.phoneNumber, message: words + " " + link)
    if !isSent {
      logger.warning("the program that sends registration links failed", metadata: ["file": "\(settings.hook)"])
    }
    return isSent ? .done : .refused(200, .messageNotSent)
  }

  private func linkReply(_ link: String, sealedFor client: VerifiedClient?) throws -> ServiceReply {
    guard let client else { return ServiceReply(200, RegistrationLinkReply(registerURL: link).encoded()) }
    let seal = LinkSeal(secret: client.replySecret, nonce: client.nonce)
    let text = seal.sealed(link, salt: try Fresh.bytes(LinkSeal.saltLength))
    return ServiceReply(200, SealedLinkReply.sealed(text).encoded())
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
