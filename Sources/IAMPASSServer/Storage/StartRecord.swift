import IAMPASSProtocol

/// What is stored about the computer that asks and the user who is asked, in one consistent view. Nothing is judged:
/// ``StartFacts`` does that.
struct StartRecord: Sendable {
  struct AskedUser: Sendable {
    let id: Int64
    /// The live one.
    let phone: StartFacts.AskedPhone?
    /// The user said of this source that it was somebody else, and the block lasts.
    let isSourceBlocked: Bool
    /// The user's denials that ended after ``Denials/start(at:)``, the last first.
    let denials: [Denials.Denial]
    /// The sessions that had not ended when last stored, the oldest first.
    let unended: [Session]
    /// Match codes of sessions that ended after ``MatchCodesInUse/start(at:)``, the first to end first. Not read unless
    /// ``StartAsk/showsCode(under:)``.
    let endedCodes: [MatchCodesInUse.Ended]
  }

  /// False for a host credential that was revoked.
  let isStarterUsable: Bool
  let settings: ApplicationSettings
  /// Nil for a user that the application does not have, and if the starter may not ask.
  let user: AskedUser?
}

extension StartFacts {
  /// What the record means for this request. A match code is drawn here.
  init(_ record: StartRecord, _ ask: StartAsk, at now: UnixTime) throws {
    isStarterUsable = record.isStarterUsable
    settings = record.settings
    user = try record.user.map { try AskedUser($0, ask, showsCode: ask.showsCode(under: record.settings), now) }
  }
}

extension StartFacts.AskedUser {
  fileprivate init(_ user: StartRecord.AskedUser, _ ask: StartAsk, showsCode: Bool, _ now: UnixTime) throws {
    id = user.id
    phone = user.phone
    isSourceBlocked = user.isSourceBlocked
    hasTooManyDenials = Denials.areTooMany(user.denials, from: ask.source, at: now)
    unended = user.unended
    guard showsCode else {
      freeCode = nil
      isCodeInUse = false
      return
    }
    let codes = MatchCodesInUse(user.unended, ended: user.endedCodes, at: now)
    freeCode =
      if let code = ask.matchCode { codes.take(code, for: ask.source) } else { try codes.fresh(for: ask.source) }
    isCodeInUse = try ask.matchCode != nil && freeCode == nil && codes.fresh(for: ask.source) != nil
  }
}

extension StartAsk {
  /// Whether a terminal will show a match code for it.
  func showsCode(under settings: ApplicationSettings) -> Bool {
    matchCode != nil || settings.matchCodes != .off && hasContext
  }
}
