import IAMPASSProtocol

/// Entries of the audit that tell of something that is signed, or is to be. The database makes them itself.
enum SigningEvent: String, CaseIterable, Sendable {
  case userListed = "user listed"
  case userDeleted = "user deleted"
  case phoneRegistered = "phone registered"
  case phoneCutOff = "phone cut off"
  case credentialAdded = "phone credential added"
  case credentialReplaced = "phone credential replaced"
  case administratorAdded = "administrator added"
  case administratorChanged = "administrator changed"
  case administratorRemoved = "administrator removed"
  case administratorsSigned = "administrators signed"
  case usersSigned = "user list signed"

  static let ofPhones: [Self] = [.phoneRegistered, .phoneCutOff, .credentialAdded, .credentialReplaced]
  static let ofLists: [Self] = [.userListed, .userDeleted] + ofPhones
  static let ofAdministrators: [Self] = [.administratorAdded, .administratorChanged, .administratorRemoved]
}

extension [SigningEvent] {
  /// As a question takes them: each has a comma on both sides.
  var storedText: String { "," + map { $0.rawValue + "," }.joined() }
}

/// What the audit has of changes that are signed, or are to be.
protocol SigningNews {
  /// 0 without an entry.
  func lastAuditID() throws -> Int64
  func hasEntry(of events: [SigningEvent], afterAudit id: Int64) throws -> Bool
  /// - Parameter application: its id.
  func hasEntry(of events: [SigningEvent], in application: String, afterAudit id: Int64) throws -> Bool
  /// When the first entry after this time was made; nil without one.
  ///
  /// - Parameter application: its id; nil: any, or none.
  func firstEntry(of events: [SigningEvent], in application: String?, after time: UnixTime) throws -> UnixTime?
  /// The id of the application whose users are the administrators.
  func administratorsApplication() throws -> String?
}

extension SigningNews {
  /// Whether the state of signing may be another one since this entry.
  func hasSigningNews(afterAudit id: Int64) throws -> Bool { try hasEntry(of: SigningEvent.allCases, afterAudit: id) }

  /// Whether the application's users or their phones may be others since this entry.
  func hasListNews(of application: String, afterAudit id: Int64) throws -> Bool {
    try hasEntry(of: SigningEvent.ofLists, in: application, afterAudit: id)
  }

  /// The same for administrators and their phones.
  func hasAdministratorNews(afterAudit id: Int64) throws -> Bool {
    if try hasEntry(of: SigningEvent.ofAdministrators, afterAudit: id) { return true }
    guard let application = try administratorsApplication() else { return false }
    return try hasEntry(of: SigningEvent.ofPhones, in: application, afterAudit: id)
  }

  /// When the application's users or their phones changed first after this time; nil if the audit has no such entry.
  func firstListChange(of application: String, after time: UnixTime) throws -> UnixTime? {
    try firstEntry(of: SigningEvent.ofLists, in: application, after: time)
  }

  /// The same for administrators and their phones.
  func firstAdministratorChange(after time: UnixTime) throws -> UnixTime? {
    let phones = try administratorsApplication().flatMap {
      try firstEntry(of: SigningEvent.ofPhones, in: $0, after: time)
    }
    return try [firstEntry(of: SigningEvent.ofAdministrators, in: nil, after: time), phones].compactMap(\.self).min()
  }
}

extension SigningWork {
  /// Since when something of the application's list is not signed; nil if everything is, or nobody knows.
  ///
  /// - Parameters:
  ///   - hasChanges: the last list is another one than it should be.
  ///   - counts: its signer's signature counts today.
  func unsignedSince(
    of application: String, _ last: SignedList?, hasChanges: Bool, counts: Bool, under set: StoredAdministratorSet
  ) throws -> UnixTime? {
    guard let last else { return set.madeAt }
    guard try last.head.epoch == rows.epoch() else { return nil }
    guard counts else { return set.madeAt }
    // What changed while the phone was asked has an earlier entry.
    return hasChanges ? try rows.firstListChange(of: application, after: last.signedAt) ?? last.signedAt : nil
  }
}
