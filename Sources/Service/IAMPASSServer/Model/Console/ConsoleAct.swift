import IAMPASSProtocol

/// Who changes something in the console, and what that browser's page showed. While it is set, each change that the
/// storage makes is tied to it: the audit names the administrator and the session that a phone approved, and nothing is
/// stored if somebody else changed the same thing meanwhile.
struct ConsoleAct: Sendable {
  @TaskLocal static var current: ConsoleAct?

  let administrator: String
  /// The session by which the administrator's phone signed the browser in; nil for a one-time link.
  let approval: String?
  /// Nil if the page showed nothing that could have changed.
  let seen: SeenState?
}

/// What two administrators may change at once.
enum ConsoleSubject: Sendable {
  /// Its settings, notifications and secret.
  case application(String)
  /// A host credential's name, and whether it is usable.
  case credential(String)
  /// Which phone a user has.
  case phone(user: Int64)
  /// An administrator's role.
  case administrator(String)
}

/// A subject as a page showed it.
struct SeenState: Sendable {
  let subject: ConsoleSubject
  let state: String

  /// A short mark of values, for forms. Secrets may be among the values: nobody gets them back from it.
  static func mark(_ values: [String?]) -> String {
    let text = JSON.array(values.map { $0.map(JSON.string) ?? .null }).encoded()
    return String(Digest.hexadecimal(Digest.sha256(text)).prefix(16))
  }

  func check(_ stored: String) throws(ChangedMeanwhile) {
    guard state == stored else { throw ChangedMeanwhile() }
  }
}

/// Somebody changed it after the page was made. Nothing is stored.
struct ChangedMeanwhile: Error {}

extension ApplicationSettings {
  /// All values, in words.
  var stateWords: [String?] {
    [
      "\(walkaway)", "\(silenceLeaves)", matchCodes.rawValue, "\(answerTime)", "\(greatestDuration)", hook,
      "\(appsVouchForFaces)", "\(isDisabled)",
    ]
  }
}
