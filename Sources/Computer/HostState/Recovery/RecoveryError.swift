import HostSystem

/// Why recovery codes cannot be used or made.
public enum RecoveryError: Error, Sendable, Equatable {
  case file(FileError)
  /// The file is incomplete, of another version, or has hashes of another scheme.
  case damaged(path: String)
  /// The set was made for another computer, or for a former user of this name.
  case notThisComputers(path: String)
  case notThisUsers(path: String)
  /// This computer's identity is not known.
  case unknownComputer
  case cannotHash(String)
  /// The codes cannot be sealed for the receiver.
  case cannotSeal(String)

  /// libcrypto failed with the keys.
  static func cannotSeal(_ error: OfflineError) -> RecoveryError {
    if case .cannotCompute(let why) = error { .cannotSeal(why) } else { .cannotSeal(error.explanation) }
  }

  /// What is wrong, and where.
  public var explanation: String {
    switch self {
    case .file(let error): error.explanation
    case .damaged(let path): "\(path) is not a whole set of recovery codes"
    case .notThisComputers(let path): "\(path) was made for another computer"
    case .notThisUsers(let path): "\(path) was made for another user"
    case .unknownComputer: "/etc/machine-id does not tell which computer this is"
    case .cannotHash(let why): "codes cannot be hashed: \(why)"
    case .cannotSeal(let why): "codes cannot be sealed: \(why)"
    }
  }

  /// The reason for the user, after "recovery codes cannot be used".
  public var words: String {
    switch self {
    case .file(let error): error.words
    case .damaged: "their file is damaged"
    case .notThisComputers: "they were made for another computer"
    case .notThisUsers: "they were made for another user"
    case .unknownComputer, .cannotHash, .cannotSeal: "this computer cannot check them"
    }
  }
}
