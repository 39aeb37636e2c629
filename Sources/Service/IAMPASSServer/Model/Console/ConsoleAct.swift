import IAMPASSProtocol

/// Who makes a change in the console, and what the browser's page showed. While it is set, each change of the storage
/// belongs to it. The audit names the administrator and the session that a phone approved. If another administrator has
/// changed the same data meanwhile, the change is not stored.
struct ConsoleAct: Sendable {
  @TaskLocal static var current: ConsoleAct?

  let administrator: String
  /// The session by which the administrator's phone signed the browser in; nil for a one-time link.
  let approval: String?
  /// The state that the page showed; nil if it cannot have changed.
  let seen: SeenState?
}

/// Data that two administrators may change at once.
enum ConsoleSubject: Sendable {
  /// Its settings, notifications and secret.
  case application(String)
  /// A host credential's name, and whether it is usable.
  case credential(String)
  /// Which phone a user has.
  case phone(user: Int64)
  /// An administrator's role, and which phone they have.
  case administrator(String)
}

/// A subject as a page showed it.
struct SeenState: Sendable {
  let subject: ConsoleSubject
  let state: String

  /// A short digest of values, for forms. The values may include secrets, which cannot be computed from it.
  static func mark(_ values: [String?]) -> String {
    let text = JSON.array(values.map { $0.map(JSON.string) ?? .null }).encoded()
    return String(Digest.hexadecimal(Digest.sha256(text)).prefix(16))
  }

  func check(_ stored: String) throws(ChangedMeanwhile) {
    guard state == stored else { throw ChangedMeanwhile() }
  }
}

/// The data was changed after the page was made. The change was not stored.
struct ChangedMeanwhile: Error {}

extension ApplicationSettings {
  /// All values as words, for ``SeenState/mark(_:)``. They are not listed here, so that a new member is not forgotten.
  var stateWords: [String?] { Mirror(reflecting: self).children.map { "\($0.value)" } }
}
