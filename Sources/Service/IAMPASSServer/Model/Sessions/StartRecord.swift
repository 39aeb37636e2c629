import IAMPASSProtocol

/// The stored data about the computer that asks and the user who is asked, from one consistent view. ``StartFacts``
/// judges it.
struct StartRecord: Sendable {
  struct AskedUser: Sendable {
    let id: Int64
    /// The user's live phones, oldest first.
    let phones: [StartFacts.AskedPhone]
    /// The locum who may answer for the user, if the computer can verify that, with their phone.
    let locum: (Locum, phone: StartFacts.AskedPhone)?
    /// Whether the user has reported this source as somebody else, and the block lasts.
    let isSourceBlocked: Bool
    /// The user's denials that ended after ``Denials/start(at:)``, newest first.
    let denials: [Denials.Denial]
    /// The sessions that had not ended when they were last stored, oldest first.
    let unended: [Session]
    /// The user's requests that could not be read, and were ended therefore.
    let endedUnread: [Session]
    /// Whether the user has requests that could not be read.
    let hasUnread: Bool
    /// Match codes of sessions that ended after ``MatchCodesInUse/start(at:)``, the first to end first. Not read unless
    /// ``SessionStartRequest/showsCode(under:)``.
    let endedCodes: [MatchCodesInUse.Ended]
  }

  /// Whether the client may be used. False for a revoked host credential.
  let isClientUsable: Bool
  let settings: ApplicationSettings
  /// Whether the computer may be a copy, and the application holds such computers.
  let isComputerHeld: Bool
  /// The user; nil if the application does not have the user, or if the client may not ask.
  let user: AskedUser?
  /// The session that the same start has already made; nil if there is none.
  var begun: Session? = nil
}

extension StartFacts {
  /// Makes the facts for this request. A match code is chosen here.
  init(_ record: StartRecord, _ request: SessionStartRequest, at now: UnixTime) throws {
    isClientUsable = record.isClientUsable
    settings = record.settings
    isComputerHeld = record.isComputerHeld
    user = try record.user.map { try AskedUser($0, request, showsCode: request.showsCode(under: record.settings), now) }
    begun = record.begun
  }
}

extension StartFacts.AskedUser {
  fileprivate init(_ user: StartRecord.AskedUser, _ request: SessionStartRequest, showsCode: Bool, _ now: UnixTime)
    throws
  {
    id = user.id
    phones = user.phones
    locum = user.locum
    isSourceBlocked = user.isSourceBlocked
    hasTooManyDenials = Denials.areTooMany(user.denials, from: request.source, at: now)
    unended = user.unended
    guard showsCode else {
      freeCode = nil
      isCodeInUse = false
      return
    }
    let codes = MatchCodesInUse(user.unended, ended: user.endedCodes, at: now)
    freeCode =
      if let code = request.matchCode { codes.take(code, for: request.source) } else {
        try codes.fresh(for: request.source)
      }
    isCodeInUse = try request.matchCode != nil && freeCode == nil && codes.fresh(for: request.source) != nil
  }
}

extension SessionStartRequest {
  /// Whether a terminal will show a match code for this request.
  func showsCode(under settings: ApplicationSettings) -> Bool {
    // A document's digest proves more than digits, and there may be no terminal.
    guard !SignedDocument.isAsked(by: context) else { return false }
    guard !context.isWithoutCode else { return false }
    return matchCode != nil || settings.matchCodes != .off && hasContext
  }
}
