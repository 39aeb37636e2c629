import IAMPASSProtocol

extension StorageEngine {
  func addUsers(
    _ names: [String], called: [AddUsersRequest.Name], to application: String
  ) async throws -> AddedUsers {
    try await write { db in
      let created = try User.add(names, application: application, in: db)
      try User.note(called, application: application, in: db)
      let isNew = Set(created.map { Array($0.utf8) })
      return AddedUsers(created: created, existing: names.filter { !isNew.contains(Array($0.utf8)) })
    }
  }

  func deleteUsers(_ names: [String], of application: String, at now: UnixTime) async throws -> [Session] {
    try await write { try User.delete(names, of: application, at: now, in: $0) }
  }

  func user(_ name: String, of application: String) async throws -> UserRecord? {
    try await read { db in
      try User.find(name, application: application, in: db).map { try UserRecord($0, in: db) }
    }
  }

  func managed(_ id: Int64, of application: String) async throws -> UserRecord? {
    try await read { db in
      try User.find(id, application: application, in: db).map { try UserRecord($0, in: db) }
    }
  }

  func makeLink(_ order: LinkOrder, at now: UnixTime) async throws -> StoredLink? {
    try await write { db in
      guard let user = try User.find(order.user, application: order.application, in: db) else { return nil }
      let former = order.loss == nil ? nil : try Phone.displayName(of: user.id, in: db)
      var phones: [String] = []
      var closed: [Session] = []
      if let loss = order.loss {
        if let lost = order.lostPhone, try !Phone.isOf(user.id, phone: lost, in: db) { return nil }
        phones = try Phone.cutOff(user: user.id, phone: order.lostPhone, at: now, in: db)
        let left = try Phone.liveIDs(of: user.id, in: db)
        // Nobody knows which phone one follows that cannot be read.
        let meant = try Session.endable(of: user.id, in: db).filter { one in
          loss.closes(one.id, isUnanswered: one.isUnanswered)
            && (order.lostPhone.map { one.session?.follows($0, among: left) ?? true } ?? true)
        }
        closed = try UnendedSession.close(meant, .phoneLost, at: now, in: db)
      }
      try Link.revokeAll(of: user.id, in: db)
      try Link.create(order, user: user.id, displayName: order.shownName(former: former), at: now, in: db)
      return StoredLink(user: user.id, cutOff: phones, closed: closed)
    }
  }

  func link(_ code: Secret) async throws -> (link: Link, application: String)? {
    try await read { db in
      guard let link = try Link.find(code: code, in: db) else { return nil }
      return (link, try Application.name(of: link.user, in: db))
    }
  }

  func phone(registeredBy code: Secret) async throws -> LinkedPhone? {
    try await read { db in
      guard let link = try Link.find(code: code, in: db),
        let phone = try Phone.live(of: link.user, in: db).first(where: { link.registered($0) })
      else { return nil }
      return LinkedPhone(
        link: link, application: try Application.name(of: link.user, in: db), phone: phone,
        credential: try VerifiedCredential.of(phone: phone.id, in: db))
    }
  }

  func register(
    _ phone: NewPhone, by code: Secret, at now: UnixTime,
    deciding decide: @escaping @Sendable (LinkFacts) throws -> Result<Link, Refusal>
  ) async throws -> Result<RegisteredPhone, Refusal> {
    try await write { [seals] db in
      let link = try Link.find(code: code, in: db)
      let settings = try link.map { try ApplicationSettings.ofUser($0.user, in: db) }
      let facts = LinkFacts(
        link: link, phones: try link.map { try Phone.liveIDs(of: $0.user, in: db) } ?? [],
        greatestCount: settings?.phones ?? 0, acceptsSyncedPasskeys: settings?.acceptsSyncedPasskeys ?? false)
      switch try decide(facts) {
      case .failure(let refusal): return .failure(refusal)
      case .success(let link): return .success(try phone.register(by: link, at: now, in: db, seals))
      }
    }
  }
}

extension NewPhone {
  fileprivate func register(
    by link: Link, at now: UnixTime, in db: some StorageTransaction, _ seals: Seals
  ) throws -> RegisteredPhone {
    var replaced: [String] = []
    var closed: [Session] = []
    if link.replacesPhone {
      replaced = try Phone.cutOff(user: link.user, phone: link.lostPhone, at: now, in: db)
      closed = try Session.close(all: .unanswered, of: link.user, .phoneLost, at: now, in: db)
    }
    let name = Phone.freeName(name, among: try Phone.labels(of: link.user, in: db))
    try Phone.register(self, named: name, by: link, at: now, in: db)
    try credential?.insert(phone: id, at: now, in: db)
    if let way { try PushTargets.keep(way, of: id, at: now, in: db, seals) }
    try link.markUsed(at: now, in: db)
    // Otherwise an older link could replace this new phone.
    try Link.revokeReplacing(of: link.user, in: db)
    return RegisteredPhone(
      user: link.user, displayName: link.displayName, application: try Application.name(of: link.user, in: db),
      replaced: replaced, closed: closed)
  }
}

extension UserRecord {
  fileprivate init(_ user: User, in db: some StorageTransaction) throws {
    self.init(
      user: user,
      phones: try Phone.live(of: user.id, in: db).map { ($0, try VerifiedCredential.of(phone: $0.id, in: db)) })
  }
}
