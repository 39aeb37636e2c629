import IAMPASSProtocol

/// What becomes of the sessions that a lost phone approved. Requests that it has not answered are closed.
enum PhoneLoss: Sendable {
  case keepsSessions
  /// All of the user's end, except those with these ids.
  case endsSessions(but: Set<String>)

  func closes(_ session: Session) -> Bool {
    if session.lifecycle.isUnanswered { return true }
    if case .endsSessions(let kept) = self { return !kept.contains(session.id) }
    return false
  }
}

/// Makes the links with which phones are registered.
struct RegistrationLinks: Sendable {
  struct Made: Sendable {
    let url: String
    /// Nil unless the loss of the phone was to end them.
    let endedSessions: Int64?
  }

  let core: ServiceCore

  /// A new link, the user's only one that works: an older one may be in somebody else's hands. Nil for an unknown user.
  ///
  /// - Parameters:
  ///   - displayName: what the phone shows for the user; empty: what a lost phone showed.
  ///   - losing: cuts the phone off at once.
  func make(
    for name: String, of application: String, displayName: String, losing: PhoneLoss? = nil, at address: PublicAddress
  ) async throws -> Made? {
    let code = Secret(try RandomValue.identifier())
    let given = DisplayText.sanitized(displayName, limit: 100)
    let now = core.clock()
    let stored = try await core.storage.write { db -> (user: Int64, phone: String?, closed: [Session])? in
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
    guard let (user, phone, closed) = stored else { return nil }
    if let phone { core.audit.cutOff(phone: phone, user: user) }
    core.announceEnd(of: closed)
    if losing != nil { core.board.changed(.user(user)) }
    return Made(
      url: address.url.route(["register", code.exposedValue]), endedSessions: losing?.countsEnded(among: closed))
  }
}

extension PhoneLoss {
  /// How many approved sessions this ended; nil if it was to keep them.
  fileprivate func countsEnded(among closed: [Session]) -> Int64? {
    guard case .endsSessions = self else { return nil }
    return Int64(closed.count { $0.lifecycle.approvedAt != nil && $0.lifecycle.ending == .phoneLost })
  }
}
