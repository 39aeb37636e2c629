import DeviceProtocol
import IAMPASSProtocol

extension StorageEngine {
  func phone(_ id: String) async throws -> Phone? { try await readOnce { try Phone.find(id, in: $0) } }

  func markPage(of phone: String) async throws { try await writeWithoutSync { try Phone.markPage(phone, in: $0) } }

  func notePageView(of phone: ActingPhone, at now: UnixTime) async throws {
    try await writeWithoutSync { db in
      guard try phone.isLive(in: db) else { return }
      try Phone.notePageView(phone.id, at: now, in: db)
    }
  }

  func requests(for phone: ActingPhone, at now: UnixTime) async throws -> PhoneRequests? {
    try await read { try PhoneRequests.find(for: phone, at: now, in: $0) }
  }

  func account(of phone: ActingPhone, at now: UnixTime) async throws -> PhoneAccount {
    try await read { try PhoneAccount(of: phone, at: now, in: $0) }
  }

  func pageState(of phone: ActingPhone, at now: UnixTime) async throws -> PageState? {
    try await read { db in
      try db.prefetch { db in
        try PhoneRequests.askAll(for: phone, at: now, in: db)
        try PhoneAccount.askAll(of: phone, at: now, in: db)
      }
      guard let requests = try PhoneRequests.find(for: phone, at: now, in: db),
        let stored = try Phone.readable(of: phone.user, for: phone.id, in: db).first(where: { $0.id == phone.id })
      else { return nil }
      return PageState(phone: stored, requests: requests, account: try PhoneAccount(of: phone, at: now, in: db))
    }
  }

  func keepFace(
    _ isOffered: Bool, of phone: ActingPhone, at now: UnixTime,
    unless refusal: @escaping @Sendable (PhoneFacts) throws -> Refusal?
  ) async throws -> Refusal? {
    try await write { db in
      if let refusal = try refusal(PhoneFacts(phone, in: db)) { return refusal }
      try Phone.keepFace(isOffered, of: phone.id, at: now, in: db)
      return nil
    }
  }

  func setPresence(_ presence: Presence, of phone: ActingPhone, at now: UnixTime) async throws -> [Session]? {
    try await write { db in
      guard try phone.isLive(in: db) else { return nil }
      try Phone.set(presence, of: phone.id, in: db)
      guard presence.movesSessions(under: try ApplicationSettings.ofUser(phone.user, in: db)) else { return [] }
      return try Session.move(allOf: phone.id, user: phone.user, to: presence, at: now, in: db)
    }
  }

  func endSessions(_ ids: Set<String>, by phone: ActingPhone, at now: UnixTime) async throws -> EndByPhone {
    try await write { db in
      try db.prefetch { db in
        _ = try phone.isLive(in: db)
        for id in ids { _ = try Session.find(id: id, in: db) }
      }
      guard try phone.isLive(in: db) else { return .cutOff }
      var sessions: [Session] = []
      var uses: [String] = []
      for id in ids {
        if let session = try Session.find(id: id, in: db), session.user == phone.user {
          sessions.append(session)
        } else {
          // This is a session that a code opened on a computer that could not ask the phone.
          guard try UseState.find(id, of: phone.user, in: db) != nil else { return .unknownSession }
          uses.append(id)
        }
      }
      for id in uses { try CodeUse.disown(id, of: phone.user, at: now, in: db) }
      return .ended(try Session.close(sessions, .endedOnPhone, at: now, in: db))
    }
  }

  func unregister(_ phone: ActingPhone, at now: UnixTime) async throws -> [Session]? {
    try await write { db in
      guard try phone.isLive(in: db) else { return nil }
      try Phone.cutOff(user: phone.user, phone: phone.id, at: now, in: db)
      try Link.revokeAll(of: phone.user, in: db)
      return try Session.close(all: .unanswered, of: phone.user, .phoneUnregistered, at: now, in: db)
    }
  }

  func keepCredential(
    _ credential: VerifiedCredential, pinMAC: String?, of phone: ActingPhone, at now: UnixTime,
    unless refusal: @escaping @Sendable (PhoneFacts) throws -> Refusal?
  ) async throws -> Refusal? {
    try await write { db in
      if let refusal = try refusal(PhoneFacts(phone, in: db)) { return refusal }
      try credential.insert(phone: phone.id, at: now, in: db)
      try Phone.setPinMAC(pinMAC, of: phone.id, in: db)
      return nil
    }
  }
}

// Push messages.
extension StorageEngine {
  func pushToken() async throws -> PushToken { try await read { [seals] in try PushTargets.token(in: $0, seals) } }

  func pushTargets(of user: Int64) async throws -> [PushTarget] {
    try await read { [seals] in try PushTargets.pushTargets(of: user, in: $0, seals) }
  }

  func keepPush(_ way: PushWay?, of phone: ActingPhone, at now: UnixTime) async throws -> Bool {
    try await write { [seals] db in
      guard try phone.isLive(in: db) else { return false }
      try PushTargets.keep(way, of: phone.id, at: now, in: db, seals)
      return true
    }
  }

  func forget(_ target: PushTarget) async throws {
    try await write { [seals] in try PushTargets.forget(target, in: $0, seals) }
  }
}

// Silence.
extension StorageEngine {
  func wasSilent(_ phone: Phone, isAsking: Bool) async throws -> Bool? {
    try await readOnce { try PresenceBySilence.wasSilent(phone, isAsking: isAsking, in: $0) }
  }

  func markSeen(_ phone: Phone, wasSilent: Bool, at now: UnixTime) async throws -> [Session] {
    let markSeen = { @Sendable (db: Transaction) in try PresenceBySilence.markSeen(phone, at: now, in: db) }
    return try await wasSilent ? write(markSeen) : writeWithoutSync(markSeen)
  }

  func leaveForSilence(
    since last: PresenceBySilence.Check?, at now: UnixTime, limit: Int
  ) async throws -> SilencePortion {
    try await write { db in
      // A look that was interrupted comes to its end first, as of its own time. What was credited is not credited again.
      let unfinished = last.flatMap { $0.uncredited.isEmpty ? nil : $0 }
      var check: PresenceBySilence.Check
      if let unfinished {
        check = unfinished
      } else {
        check = PresenceBySilence.Check(time: now, applications: try PresenceBySilence.applications(in: db))
        check.uncredited = check.credits(since: last)
      }
      try PresenceBySilence.beginToListen(&check, limit: PresenceBySilence.creditedPerLeaving * limit, in: db)
      // The next portion looks as of now.
      guard unfinished == nil, check.uncredited.isEmpty else {
        return SilencePortion(check: check, moved: [], isLast: false)
      }
      let (moved, isLast) = try PresenceBySilence.leave(at: now, limit: limit, in: db)
      return SilencePortion(check: check, moved: moved, isLast: isLast)
    }
  }
}

extension PhoneRequests {
  fileprivate static func askAll(for phone: ActingPhone, at now: UnixTime, in db: some StorageTransaction) throws {
    _ = try Phone.readable(of: phone.user, for: phone.id, in: db)
    _ = try Session.unended(of: phone.user, in: db)
    _ = try Session.unended(forLocum: phone.id, in: db)
    _ = try VerifiedCredential.of(phone: phone.id, in: db)
    _ = try MissingMethods.required(of: phone.id, in: db)
    _ = try CodeUse.shown(to: phone.user, at: now, in: db)
  }

  /// Nil if the phone was revoked.
  fileprivate static func find(
    for phone: ActingPhone, at now: UnixTime, in db: some StorageTransaction
  ) throws -> PhoneRequests? {
    try db.prefetch { try askAll(for: phone, at: now, in: $0) }
    let phones = try Phone.readable(of: phone.user, for: phone.id, in: db)
    guard phones.contains(where: { $0.id == phone.id }) else { return nil }
    let (own, unread) = try Session.unendedOrUnread(of: phone.user, in: db)
    return PhoneRequests(
      unended: try own + Session.unended(forLocum: phone.id, in: db),
      credential: try VerifiedCredential.of(phone: phone.id, in: db)?.id,
      missingMethods: try MissingMethods.required(of: phone.id, in: db),
      codeUses: try CodeUse.shown(to: phone.user, at: now, in: db),
      elsewhere: phones.count > 1 ? try AnswerElsewhere.found(for: phone, among: phones, at: now, in: db) : [],
      unreadable: unread.map(\.id))
  }
}

extension PhoneAccount {
  fileprivate static func askAll(of phone: ActingPhone, at now: UnixTime, in db: some StorageTransaction) throws {
    _ = try Application.name(of: phone.user, in: db)
    _ = try Session.unended(of: phone.user, in: db)
    _ = try PhoneMeans.find(phone.id, in: db)
    _ = try ApplicationSettings.ofUser(phone.user, in: db)
    _ = try MissingMethods.required(of: phone.id, in: db)
    _ = try CodeUse.shown(to: phone.user, at: now, in: db)
    _ = try Phone.readable(of: phone.user, for: phone.id, in: db)
    _ = try Session.byLocums(of: phone.user, at: now, in: db)
  }

  fileprivate init(of phone: ActingPhone, at now: UnixTime, in db: some StorageTransaction) throws {
    try db.prefetch { try Self.askAll(of: phone, at: now, in: $0) }
    self.init(
      application: try Application.name(of: phone.user, in: db), unended: try Session.unended(of: phone.user, in: db),
      methods: try PhoneMeans.find(phone.id, in: db)?.methods ?? [.acceptance],
      walksAway: try ApplicationSettings.ofUser(phone.user, in: db).walkaway,
      missingMethods: try MissingMethods.required(of: phone.id, in: db),
      codeUses: try CodeUse.shown(to: phone.user, at: now, in: db),
      phones: try Phone.readable(of: phone.user, for: phone.id, in: db),
      byLocums: try Session.byLocums(of: phone.user, at: now, in: db))
  }
}

extension ActingPhone {
  func isLive(in db: some StorageTransaction) throws -> Bool {
    try db.has("SELECT 1 FROM phone WHERE id = $1 AND user_id = $2 AND cut_off_at IS NULL", id, user)
  }
}

extension AnswerElsewhere {
  static func found(
    for phone: ActingPhone, among phones: [Phone], at now: UnixTime, in db: some StorageTransaction
  ) throws -> [AnswerElsewhere] {
    let rows = try db.all(
      """
      SELECT * FROM session WHERE user_id = $1 AND asked IS NOT NULL AND started_at > $2 AND answered_by IS NOT NULL
      ORDER BY started_at, number
      """, phone.user, start(at: now).milliseconds)
    return rows.compactMap { try? Session(row: $0) }.compactMap { session in
      phones.first { $0.id == session.answeredBy }.flatMap { AnswerElsewhere(session, by: $0, than: phone, at: now) }
    }
  }
}

extension PhoneFacts {
  static func askAll(of phone: ActingPhone, in db: some StorageTransaction) throws {
    _ = try phone.isLive(in: db)
    _ = try VerifiedCredential.of(phone: phone.id, in: db)
    _ = try PhoneMeans.find(phone.id, in: db)
  }

  init(_ phone: ActingPhone, in db: some StorageTransaction) throws {
    try db.prefetch { try Self.askAll(of: phone, in: $0) }
    isLive = try phone.isLive(in: db)
    credential = try VerifiedCredential.of(phone: phone.id, in: db)
    let means = try PhoneMeans.find(phone.id, in: db)
    mayVouchForFace = means?.mayVouchForFace ?? false
    vouchesForFace = means.map { $0.mayVouchForFace && $0.offersFace } ?? false
    acceptsSyncedPasskeys = means?.acceptsSyncedPasskeys ?? false
  }
}
