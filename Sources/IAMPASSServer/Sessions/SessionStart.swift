import GRDB
import IAMPASSProtocol

/// The start of a sign-in session within one transaction: gather, decide, store.
struct SessionStart: Sendable {
  enum Outcome: Sendable {
    case not(StartPolicy.Obstacle)
    /// `isRung`: the phone comes to know by itself.
    case started(Session, isRung: Bool)
  }

  /// What the computer's boot means for its sessions; nil without a signed boot and a host credential.
  let boot: HostBoot.Finding?
  let outcome: Outcome

  static func perform(_ ask: StartAsk, at now: UnixTime, in db: Database) throws -> SessionStart {
    // First: what the computer opened before its restart must not stand in the way of this request.
    let boot = try noteBoot(of: ask, at: now, in: db)
    let decision = StartPolicy.decide(ask, try StartFacts(of: ask, at: now, in: db), at: now)
    return SessionStart(boot: boot, outcome: try store(decision, ask, at: now, in: db))
  }

  /// Ends what this computer opened before it was started again. Several computers may use an application's own
  /// credential: with that credential, each of them ends its own sessions.
  private static func noteBoot(of ask: StartAsk, at now: UnixTime, in db: Database) throws -> HostBoot.Finding? {
    guard let boot = ask.boot, let credential = ask.starter.credential, try ask.starter.isUsable(in: db) else {
      return nil
    }
    return try HostBoot.note(boot, of: credential.id, at: now, in: db)
  }

  private static func store(
    _ decision: StartPolicy.Decision, _ ask: StartAsk, at now: UnixTime, in db: Database
  ) throws -> Outcome {
    switch decision {
    case .refuse(let obstacle):
      if case .openRequest(let open, _) = obstacle { try open.countHeldBack(in: db) }
      return .not(obstacle)
    case .start(let terms):
      let session = try Session(ask, terms, at: now)
      try session.insert(in: db)
      return .started(session, isRung: terms.isRung)
    }
  }
}

extension StartFacts {
  init(of ask: StartAsk, at now: UnixTime, in db: Database) throws {
    // Read again: it may have been revoked since its signature was checked.
    let isStarterUsable = try ask.starter.isUsable(in: db)
    let settings = try ApplicationSettings.of(ask.starter.application.id, in: db)
    self.isStarterUsable = isStarterUsable
    self.settings = settings
    guard isStarterUsable, !settings.isDisabled else {
      user = nil
      return
    }
    let found = try User.find(ask.user, application: ask.starter.application.id, in: db)
    user = try found.map {
      try AskedUser($0.id, ask, drawsCode: settings.matchCodes != .off && ask.hasContext, now, db)
    }
  }
}

extension StartFacts.AskedUser {
  fileprivate init(_ id: Int64, _ ask: StartAsk, drawsCode: Bool, _ now: UnixTime, _ db: Database) throws {
    self.id = id
    phone = try Phone.live(of: id, in: db).map { phone in
      StartFacts.AskedPhone(
        methods: try phone.methods(in: db), isRung: try !phone.hasPage || PushBook.rings(phone.id, in: db))
    }
    isSourceBlocked = try SourceBlock.isSet(user: id, source: ask.source.text, at: now, in: db)
    hasTooManyDenials = try Denials.areTooMany(of: id, from: ask.source, at: now, in: db)
    unended = try Session.unended(of: id, in: db)
    guard drawsCode || ask.matchCode != nil else {
      freeCode = nil
      isCodeInUse = false
      return
    }
    let codes = try MatchCodesInUse(of: id, unended, at: now, in: db)
    freeCode =
      if let code = ask.matchCode { codes.take(code, for: ask.source) } else { try codes.fresh(for: ask.source) }
    isCodeInUse = try ask.matchCode != nil && freeCode == nil && codes.fresh(for: ask.source) != nil
  }
}
