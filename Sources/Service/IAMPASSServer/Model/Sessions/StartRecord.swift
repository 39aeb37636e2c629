import IAMPASSProtocol

/// What is stored about the computer that asks and the user who is asked, in one consistent view. Nothing is judged:
/// ``StartFacts`` does that.
struct StartRecord: Sendable {
  struct AskedUser: Sendable {
    let id: Int64
    /// The live ones, the oldest first.
    let phones: [StartFacts.AskedPhone]
    /// Who may answer for the user, if the computer can verify that; with their phone.
    let locum: (Locum, phone: StartFacts.AskedPhone)?
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
  /// The computer may be a copy, and the application holds those.
  let isComputerHeld: Bool
  /// Nil for a user that the application does not have, and if the starter may not ask.
  let user: AskedUser?
  /// The session that this start made when it was sent before; nil if there is none.
  var begun: Session? = nil
}

extension StartFacts {
  /// What the record means for this request. A match code is drawn here.
  init(_ record: StartRecord, _ ask: StartAsk, at now: UnixTime) throws {
    isStarterUsable = record.isStarterUsable
    settings = record.settings
    isComputerHeld = record.isComputerHeld
    user = try record.user.map { try AskedUser($0, ask, showsCode: ask.showsCode(under: record.settings), now) }
    begun = record.begun
  }
}

extension StartFacts.AskedUser {
  fileprivate init(_ user: StartRecord.AskedUser, _ ask: StartAsk, showsCode: Bool, _ now: UnixTime) throws {
    id = user.id
    phones = user.phones
    locum = user.locum
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
    // A document's digest says more than digits, and nobody may be at a terminal.
    guard !SignedDocument.isAsked(by: context) else { return false }
    guard !context.isWithoutCode else { return false }
    return matchCode != nil || settings.matchCodes != .off && hasContext
  }
}
