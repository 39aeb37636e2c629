import DeviceProtocol
import IAMPASSProtocol

extension StorageEngine {
  func session(_ id: String) async throws -> Session? { try await readOnce { try Session.find(id: id, in: $0) } }

  func sessionView(_ id: String) async throws -> SessionView? {
    try await read { db in try Session.find(id: id, in: db).map { try SessionView($0, in: db) } }
  }

  func sessionViews(_ ids: [String]) async throws -> [String: Result<SessionView, any Error>] {
    try await read { db in
      // What the engine itself cannot answer fails here, for all.
      try db.prefetch { db in for id in ids { _ = try Session.find(id: id, in: db) } }
      try db.prefetch { db in
        for id in ids {
          if let session = try? Session.find(id: id, in: db) { _ = try? SessionView(session, in: db) }
        }
      }
      var found: [String: Result<SessionView, any Error>] = [:]
      for id in ids {
        do {
          if let session = try Session.find(id: id, in: db) { found[id] = .success(try SessionView(session, in: db)) }
        } catch { found[id] = .failure(error) }
      }
      return found
    }
  }

  func record(_ use: CodeUse, of name: String, by signInClient: SignInClient, at now: UnixTime) async throws
    -> CodeUseOutcome
  {
    try await write { db in
      guard try signInClient.isUsable(in: db) else { return .credentialRevoked }
      guard let user = try User.find(name, application: signInClient.application.id, in: db) else {
        return .unknownUser
      }
      return .noted(try use.keep(user: user.id, at: now, in: db), user: user.id)
    }
  }

  func answer(
    _ id: String, by phone: ActingPhone, at now: UnixTime,
    deciding decide: @escaping @Sendable (PhoneFacts, Session?) throws -> Result<TakenAnswer, Refusal>
  ) async throws -> Result<Session, Refusal> {
    let changed: @Sendable (Result<Session, Refusal>) -> [String]? = { result in
      [id, (try? result.get().id) ?? id]
    }
    return try await write(changing: changed) { db in
      try db.prefetch { db in
        _ = try Session.find(id: id, in: db)
        try PhoneFacts.askAll(of: phone, in: db)
      }
      let session = try Session.find(id: id, in: db).flatMap { $0.isFor(phone) ? $0 : nil }
      switch try decide(PhoneFacts(phone, in: db), session) {
      case .failure(let refusal): return .failure(refusal)
      case .success(let taken):
        try taken.store(by: phone, at: now, in: db)
        return .success(taken.session)
      }
    }
  }

  func changeSession(
    _ id: String, by step: @escaping @Sendable (inout Session) throws -> Bool
  ) async throws -> (view: SessionView, isChanged: Bool)? {
    let changed: @Sendable ((view: SessionView, isChanged: Bool)?) -> [String]? = { _ in [id] }
    return try await write(changing: changed) { db in
      guard var session = try Session.find(id: id, in: db) else { return nil }
      let isChanged = try step(&session)
      // This does not read the changed data, and so cannot lose an answer.
      let view = try SessionView(session, in: db)
      if isChanged { try session.update(in: db) }
      return (view, isChanged)
    }
  }

  func endOverdue(at now: UnixTime, after place: OverdueCursor?, limit: Int) async throws -> OverduePortion {
    try await write { try OverduePortion.end(at: now, after: place, limit: limit, in: $0) }
  }
}

extension ServiceEngine {
  func start(
    _ request: SessionStartRequest, at now: UnixTime,
    deciding decide: @escaping @Sendable (StartRecord) throws -> StartPolicy.Decision
  ) async throws -> SessionStart {
    let start = try await stored(request, at: now, deciding: decide)
    // Its first status comes soon. A session that cannot be opened has no keys.
    if let session = start.outcome.session, let keys = try? SessionKeys(session) {
      sessionKeys.keep(keys, as: session.id)
    }
    return start
  }

  private func stored(
    _ request: SessionStartRequest, at now: UnixTime,
    deciding decide: @escaping @Sendable (StartRecord) throws -> StartPolicy.Decision
  ) async throws -> SessionStart {
    let changed: @Sendable (SessionStart) -> [String]? = { $0.changed }
    return try await write(changing: changed) { [seals, startGuesses] db in
      try db.prefetch { db in
        _ = try SealMark.stored(in: db)
        try StartRecord.askFirst(of: request, guessing: startGuesses[request.userKey], at: now, in: db)
      }
      // A change would have it asked again.
      let mark = try SealMark.stored(in: db)
      let boot = try HostBoot.note(of: request, at: now, in: db)
      let record = try StartRecord(of: request, at: now, in: db)
      if let user = record.user {
        startGuesses.keep(StartGuess(user: user.id, record.settings, request), as: request.userKey)
      }
      let ended = record.user?.endedUnread ?? []
      let others: [String]? = boot?.endsOthers ?? false || record.user?.hasUnread ?? false ? nil : []
      switch try decide(record) {
      case .refuse(let obstacle):
        try Session.note(obstacle, at: now, in: db)
        return SessionStart(
          boot: boot, outcome: .not(obstacle), ended: ended, changed: others.map { $0 + obstacle.changed })
      case .goOn(let session, let isRung):
        let begun = try session.opened(in: db, seals)
        return SessionStart(boot: boot, outcome: .begun(begun, isRung: isRung), ended: ended, changed: others)
      case .start(let terms):
        let session = try Session(request, terms, at: now)
        try session.insert(in: db, seals, under: mark)
        if terms.locum != nil { try User.takeLocum(of: terms.user, in: db) }
        return SessionStart(
          boot: boot, outcome: .started(session, isRung: terms.isRung), ended: ended,
          changed: others.map { $0 + [session.id] })
      }
    }
  }

  func knownKeys(ofSession id: String) -> SessionKeys? { sessionKeys[id] }

  func keys(ofSession id: String) async throws -> SessionKeys? {
    if let known = sessionKeys[id] { return known }
    let found = try await read { [seals] db in
      try db.prefetch { db in
        // It says whether secrets in clear are accepted.
        if seals.keys != nil { _ = try SealMark.stored(in: db) }
        _ = try Session.find(id: id, in: db)
      }
      return try Session.find(id: id, in: db).map { try SessionKeys($0.opened(in: db, seals)) }
    }
    guard let keys = found else { return nil }
    sessionKeys.keep(keys, as: id)
    return keys
  }
}

extension SessionView {
  convenience init(_ session: Session, in db: some StorageTransaction) throws {
    let user = session.showsToken ? session.user : nil
    try db.prefetch { db in
      if let user { _ = try User.find(user, application: session.application, in: db) }
      if session.showsApproval { _ = try KeptAnswer.approval(of: session.id, in: db) }
    }
    self.init(
      session: session, approval: session.showsApproval ? try KeptAnswer.approval(of: session.id, in: db) : nil,
      userID: try user.flatMap { try User.find($0, application: session.application, in: db)?.name })
  }
}

extension StartPolicy.Obstacle {
  /// The session that counts the request that was not made.
  fileprivate var changed: [String] { if case .openRequest(let open, _) = self { [open.id] } else { [] } }
}

extension HostBoot.Finding {
  /// Whether sessions may have ended.
  fileprivate var endsOthers: Bool { if case .isNew = self { true } else { false } }
}

extension Session {
  /// Stores the sessions that `step` changes, and returns them.
  static func change(
    _ sessions: [Session], by step: (inout Session) throws -> Bool, in db: some StorageTransaction
  ) throws -> [Session] {
    var changed: [Session] = []
    for var session in sessions where try step(&session) {
      try session.update(in: db)
      changed.append(session)
    }
    return changed
  }

  /// Notes why no session was started.
  fileprivate static func note(
    _ obstacle: StartPolicy.Obstacle, at now: UnixTime, in db: some StorageTransaction
  ) throws {
    if case .openRequest(let open, _) = obstacle { try open.countHeldBack(in: db) }
    if case .missingMethods(let missing, _) = obstacle {
      for methods in missing { try methods.note(at: now, in: db) }
    }
  }
}

extension TakenAnswer {
  fileprivate func store(by phone: ActingPhone, at now: UnixTime, in db: some StorageTransaction) throws {
    if let authenticator { try VerifiedCredential.advance(phone: phone.id, to: authenticator, in: db) }
    try session.update(in: db)
    try kept.insert(at: now, in: db)
    if blocksSource { try SourceBlock.set(user: session.user ?? phone.user, source: session.source, at: now, in: db) }
  }
}

extension HostBoot {
  /// Ends the sessions that this computer opened before its restart. Several computers may use an application's own
  /// credential: with that credential, each of them ends its own sessions.
  fileprivate static func note(of request: SessionStartRequest, at now: UnixTime, in db: some StorageTransaction) throws
    -> Finding?
  {
    guard let boot = request.boot, let credential = request.signInClient.credential,
      try request.signInClient.isUsable(in: db)
    else {
      return nil
    }
    return try note(boot, of: credential.id, at: now, in: db)
  }
}

extension StartRecord {
  /// Asks all questions that are known before the first answer.
  ///
  /// - Parameter guess: whose rows are asked for as well.
  fileprivate static func askFirst(
    of request: SessionStartRequest, guessing guess: StartGuess?, at now: UnixTime, in db: some StorageTransaction
  ) throws {
    _ = try request.signInClient.isUsable(in: db)
    if request.boot != nil, let credential = request.signInClient.credential {
      _ = try HostBoot.newest(of: credential.id, in: db)
    }
    try askForUser(of: request, in: db)
    try guess?.askAll(request, now, db)
  }

  /// What names the user, and who asks: a host credential, which may be a copy's, or the application by itself.
  private static func askForUser(of request: SessionStartRequest, in db: some StorageTransaction) throws {
    _ = try request.signInClient.isUsable(in: db)
    _ = try ApplicationSettings.of(request.signInClient.application.id, in: db)
    _ = try User.find(request.user, application: request.signInClient.application.id, in: db)
    if let session = request.session { _ = try Session.find(id: session, in: db) }
  }

  fileprivate init(of request: SessionStartRequest, at now: UnixTime, in db: some StorageTransaction) throws {
    try db.prefetch { try Self.askForUser(of: request, in: $0) }
    // Read again: it may have been revoked since its signature was checked.
    let isClientUsable = try request.signInClient.isUsable(in: db)
    let settings = try ApplicationSettings.of(request.signInClient.application.id, in: db)
    self.isClientUsable = isClientUsable
    self.settings = settings
    let credential = settings.holdsClones ? request.signInClient.credential?.id : nil
    let readsCodes = request.showsCode(under: settings)
    try db.prefetch { db in
      // This is already answered. The other questions are not needed if the computer is refused, which is rare.
      let user = try User.find(request.user, application: request.signInClient.application.id, in: db)
      if let user { try StartGuess(user: user.id, settings, request).askAll(request, now, db) }
    }
    isComputerHeld = try credential.map { try CloneDetector.isForked($0, in: db) } ?? false
    guard isClientUsable, !settings.isDisabled, !isComputerHeld else {
      user = nil
      return
    }
    let found = try User.find(request.user, application: request.signInClient.application.id, in: db)
    user = try found.map { try AskedUser($0, request, readsCodes: readsCodes, now, db) }
    begun = try request.session.flatMap { try Session.find(id: $0, in: db) }
  }
}

/// Whom a user's name meant at the last start, and what that start asked of the user. The next one asks the same of the
/// same user in its first visit to the database, together with whom the name means now: only that counts, and what was
/// asked of another user is not used.
struct StartGuess: Sendable {
  private let user: Int64
  private let holdsClones: Bool
  private let readsCodes: Bool

  fileprivate init(user: Int64, _ settings: ApplicationSettings, _ request: SessionStartRequest) {
    self.user = user
    holdsClones = settings.holdsClones
    readsCodes = request.showsCode(under: settings)
  }

  fileprivate func askAll(_ request: SessionStartRequest, _ now: UnixTime, _ db: some StorageTransaction) throws {
    if holdsClones, let credential = request.signInClient.credential {
      _ = try CloneDetector.isForked(credential.id, in: db)
    }
    try StartRecord.AskedUser.askAll(of: user, request, readsCodes: readsCodes, now, db)
  }
}

extension SessionStartRequest {
  fileprivate var userKey: String { signInClient.application.id + " " + user }
}

extension StartFacts.AskedPhone {
  fileprivate init(_ phone: Phone, _ means: PhoneMeans) {
    self.init(
      id: phone.id, methods: means.methods, addable: MissingMethods.addable(mayVouchForFace: means.mayVouchForFace),
      isRung: !phone.hasPage || means.rings)
  }
}

extension StartRecord.AskedUser {
  fileprivate static func askAll(
    of user: Int64, _ request: SessionStartRequest, readsCodes: Bool, _ now: UnixTime, _ db: some StorageTransaction
  ) throws {
    _ = try Phone.readable(of: user, in: db)
    _ = try PhoneMeans.ofLive(user, in: db)
    _ = try SourceBlock.isSet(user: user, source: request.source.text, at: now, in: db)
    _ = try Denials.recent(of: user, at: now, in: db)
    _ = try Session.unended(of: user, in: db)
    if readsCodes { _ = try MatchCodesInUse.ended(of: user, at: now, in: db) }
  }

  fileprivate init(
    _ user: User, _ request: SessionStartRequest, readsCodes: Bool, _ now: UnixTime, _ db: some StorageTransaction
  ) throws {
    let id = user.id
    self.id = id
    let means = try PhoneMeans.ofLive(id, in: db)
    phones = try Phone.readable(of: id, in: db).map { phone in
      guard let means = means[phone.id] else { throw DamagedRow(column: "phone") }
      return StartFacts.AskedPhone(phone, means)
    }
    locum = try user.usableLocum(for: request, at: now).flatMap { locum -> (Locum, phone: StartFacts.AskedPhone)? in
      let phone = try Phone.find(locum.phone, in: db)
      guard let phone, !phone.isCutOff, phone.user == locum.user,
        let means = try PhoneMeans.ofLive(locum.user, in: db)[phone.id]
      else { return nil }
      return (locum, StartFacts.AskedPhone(phone, means))
    }
    isSourceBlocked = try SourceBlock.isSet(user: id, source: request.source.text, at: now, in: db)
    denials = try Denials.recent(of: id, at: now, in: db)
    let (read, unread) = try Session.unendedOrUnread(of: id, in: db)
    unended = read
    // One that was approved does not stand in the way: it may be a newer version's, and in use.
    hasUnread = !unread.isEmpty
    endedUnread = try UnendedSession.close(unread.filter(\.isUnanswered), .notAnswered, at: now, in: db)
    endedCodes = readsCodes ? try MatchCodesInUse.ended(of: id, at: now, in: db) : []
  }
}
