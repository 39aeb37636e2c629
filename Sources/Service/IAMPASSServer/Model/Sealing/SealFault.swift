import IAMPASSProtocol

/// Why a sealed secret of the database cannot be used. It names places and keys, and never has a secret.
public struct SealFault: Error, Sendable, Equatable, CustomStringConvertible {
  public enum Code: Sendable, Equatable {
    /// The file of keys has none.
    case noKeyInFile
    /// A line of the file of keys is not a key, or has the same key as another one. `subject`: its number.
    case badLine
    /// Something in the database is sealed, and no key was given. `subject`: the key that sealed it.
    case noKey
    /// None of the given keys has sealed it. `subject`: the key that did.
    case otherKey
    /// The value is not as it was sealed: it was changed, or is in another place. `subject`: what it is.
    case changed
    /// The value is in clear, in a database that is sealed. `subject`: what it is.
    case clear
    /// Nothing in the database is sealed, although the file of keys says so.
    case unsealed
    /// Another program has begun to seal or unseal the database. It goes on, and this one has stopped.
    case overtaken
  }

  public let code: Code
  public let subject: String
  /// Where the keys are from; empty without keys.
  public let place: String

  init(_ code: Code, _ subject: String = "", place: String = "") {
    self.code = code
    self.subject = subject
    self.place = place
  }

  /// What failed, in one line.
  public var description: String {
    let place = DisplayText.sanitized(place)
    let subject = DisplayText.sanitized(subject)
    return switch code {
    case .noKeyInFile: "\(place) has no key for sealed secrets"
    case .badLine: "line \(subject) of \(place) is not a key for sealed secrets, or has one for the second time"
    case .noKey: "secrets in the database are sealed by the key \(subject), and no key was given"
    case .otherKey: "secrets in the database are sealed by the key \(subject), which \(place) does not have"
    case .changed: "\(subject) in the database is not as it was sealed"
    case .clear: "\(subject) is in clear, in a database whose secrets are sealed"
    case .unsealed: "secrets in the database are in clear, but \(place) says that they are sealed"
    case .overtaken: "another program has begun to seal or unseal this database, so this one has stopped"
    }
  }

  /// What to do next.
  public var hint: String {
    switch code {
    case .noKeyInFile, .badLine: "put a copy of the file in its place; a key that it had may have sealed the database"
    case .noKey:
      "give the file with this key: --seal-key-file, or the credential seal-keys of the unit; iampass-server(8)"
    case .otherKey: "add the line of this key to the file, from a copy of the file that sealed the database"
    case .changed: "put the last backup in the database's place"
    case .clear, .unsealed:
      "find out who wrote it; iampass-server database unseal, and then database seal, take it as it is"
    case .overtaken: "wait until the other one has ended; to have it as you want it, run this again then"
    }
  }
}
