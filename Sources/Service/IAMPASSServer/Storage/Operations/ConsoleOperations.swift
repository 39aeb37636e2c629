import IAMPASSProtocol

extension StorageEngine {
  func isUsable(consoleLink code: Secret, at now: UnixTime) async throws -> Bool {
    try await read { try ConsoleAccess.isUsable(link: code, at: now, in: $0) }
  }

  func enterConsole(
    by code: Secret, key: Secret, from client: ClientAddress, at now: UnixTime
  ) async throws -> Bool {
    try await write { try ConsoleAccess.enter(link: code, key: key, from: client, at: now, in: $0) }
  }

  func consoleVisit(_ key: Secret, at now: UnixTime) async throws -> ConsoleVisit? {
    try await read { try ConsoleAccess.visit(key, at: now, in: $0) }
  }

  func markUsed(consoleVisit key: Secret, at now: UnixTime) async throws {
    try await writeWithoutSync { try ConsoleAccess.markUsed(key: key, at: now, in: $0) }
  }

  func state(of subject: ConsoleSubject) async throws -> String { try await read { try subject.state(in: $0) } }

  func leaveConsole(_ key: Secret, at now: UnixTime) async throws {
    try await write { try ConsoleAccess.leave(key: key, at: now, in: $0) }
  }

  func noteExport(to client: ClientAddress, at now: UnixTime) async throws {
    try await write { try AuditEntry.note(.auditExported, from: client.text, at: now, in: $0) }
  }

  func applications() async throws -> [ApplicationSummary] { try await read { try ApplicationSummary.find(in: $0) } }

  func application(
    _ id: String, usersAfter user: Int64, matching text: String, credentialsAt place: Int64
  ) async throws -> ApplicationOverview? {
    try await read { db in
      guard let application = try ApplicationSummary.find(id, in: db).first else { return nil }
      let (users, further) = try UserSummary.page(of: id, after: user, matching: text, in: db)
      let page = try HostCredential.page(of: id, at: place, in: db)
      return ApplicationOverview(
        application: application, credentials: page.credentials, credentialsFurther: page.further, users: users,
        usersFurther: further)
    }
  }

  func user(_ id: Int64, of application: String) async throws -> UserOverview? {
    let now = now()
    return try await read { db in
      guard let user = try UserSummary.find(id, of: application, in: db),
        let application = try ApplicationSummary.find(application, in: db).first
      else { return nil }
      return UserOverview(
        application: application, user: user, sessions: try SessionSummary.live(of: id, in: db),
        blocks: try RequestBlocks.of(id, at: now, in: db))
    }
  }

  func liveSessions(matching filter: SessionFilter) async throws -> SessionPage {
    try await read { try SessionPage(filter, in: $0) }
  }

  func auditEntries(matching filter: AuditFilter, before id: Int64?, limit: Int) async throws -> AuditPage {
    // Days are by the wall clock, but entries are ordered by service time.
    let now = now()
    let offset = clock.unixTime(of: now).milliseconds(since: now)
    return try await read { try AuditPage(filter, before: id, limit: limit, offset: offset, in: $0) }
  }

  func signInCounts(since day: Int64) async throws -> [SignInCount] {
    try await read { try SignInCount.all(since: day, in: $0) }
  }

  func computerPage(_ search: ComputerSearch, at now: UnixTime) async throws -> ComputerPage {
    try await read { try ComputerPage(search, at: now, in: $0) }
  }

  func application(_ id: String) async throws -> Application? {
    try await read { [seals] in try Application.whole(id, in: $0, seals) }
  }

  func renewSecret(of application: String, to secret: Secret, at now: UnixTime) async throws -> [Session]? {
    try await write { [seals] db in
      guard let application = try Application.find(application, in: db) else { return nil }
      return try application.renew(secret, at: now, in: db, seals)
    }
  }

  func setDisabled(_ isDisabled: Bool, of application: String, at now: UnixTime) async throws -> [Session]? {
    try await write { db in
      guard let application = try Application.find(application, in: db) else { return nil }
      return try ApplicationSettings.setDisabled(isDisabled, application.id, at: now, in: db)
    }
  }

  func changeSettings(
    of application: String, by step: @escaping @Sendable (inout ApplicationSettings) throws -> Void
  ) async throws {
    try await write { db in
      var settings = try ApplicationSettings.of(application, in: db)
      try step(&settings)
      try settings.store(for: application, in: db)
    }
  }

  func hostCredential(_ id: String, of application: String) async throws -> KnownCredential? {
    try await read { try HostCredential.find(id, of: application, in: $0) }
  }

  func renameCredential(_ id: String, of application: String, to name: String) async throws -> Bool? {
    try await write { db in
      guard let credential = try HostCredential.find(id, of: application, in: db) else { return nil }
      return try credential.rename(name, in: db)
    }
  }

  func revokeCredential(_ id: String, of application: String, at now: UnixTime) async throws -> [Session]? {
    try await write { db in
      guard let credential = try HostCredential.find(id, of: application, in: db) else { return nil }
      return try credential.revoke(at: now, in: db)
    }
  }
}

extension HostCredential {
  fileprivate static func find(_ id: String, of application: String, in db: some StorageTransaction) throws
    -> KnownCredential?
  {
    try find(id, in: db).flatMap { $0.application == application ? $0 : nil }
  }
}
