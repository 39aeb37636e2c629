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

  func makeLink(for name: String, of application: Application, _ call: Call) async throws -> ServiceReply {
    let code = Secret(try Fresh.identifier())
    let displayName = call.displayName
    let now = clock()
    let isMade = try await storage.write { db in
      guard let user = try User.find(name, application: application.id, in: db) else { return false }
      try Link.create(
        code: code, user: user.id, displayName: displayName, replacesPhone: false, at: now, in: db)
      return true
    }
    return isMade ? linkReply(code, call) : .refused(404, .unknownUser)
  }

  /// Cuts the phone off at once. What it approved goes on; what it has not answered is closed.
  func loseDevice(of name: String, of application: Application, _ call: Call) async throws -> ServiceReply {
    let code = Secret(try Fresh.identifier())
    let displayName = call.displayName
    let now = clock()
    let lost = try await storage.write { db -> (user: Int64, phone: String?, closed: [Session])? in
      guard let user = try User.find(name, application: application.id, in: db) else { return nil }
      let phone = try Phone.cutOff(user: user.id, at: now, in: db)
      let closed = try Session.close(all: .unanswered, of: user.id, .phoneLost, at: now, in: db)
      try Link.revokeAll(of: user.id, in: db)
      try Link.create(code: code, user: user.id, displayName: displayName, replacesPhone: true, at: now, in: db)
      return (user.id, phone, closed)
    }
    guard let lost else { return .refused(404, .unknownUser) }
    if let phone = lost.phone { audit.cutOff(phone: phone, user: lost.user) }
    announceEnd(of: lost.closed)
    board.changed(.user(lost.user))
    return linkReply(code, call)
  }

  func sendMessage(to name: String, of application: Application) async throws -> ServiceReply {
    let isKnown = try await storage.read { try User.find(name, application: application.id, in: $0) != nil }
    return isKnown ? .refused(200, .noTextMessages) : .refused(404, .unknownUser)
  }

  private func linkReply(_ code: Secret, _ call: Call) -> ServiceReply {
    let link = call.address.url.route(["register", code.exposedValue])
    return ServiceReply(200, RegistrationLinkReply(registerURL: link).encoded())
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
  fileprivate var displayName: String {
    let name = DisplayText.sanitized(target.value("display_name") ?? "", limit: 100)
    return name.isEmpty ? "user" : name
  }
}
