import HostState
import HostSystem
import IAMPASSProtocol

/// The sealed data of a user: name, login password, and the password's ``ShadowPrint`` at that time.
struct SealedPayload: Equatable {
  /// Version 1 had no name, so its user is not known.
  private static let version: Int64 = 2

  let user: UnixUsername
  let password: Secret
  /// The user's ``ShadowPrint`` when the password was verified.
  let print: String

  func encoded() -> [UInt8] {
    JSON.object([
      "version": .integer(Self.version), "user": .string(user.text), "print": .string(print),
      "password": .string(Base64.encode(password.exposedBytes)),
    ]).encoded()
  }

  init(user: UnixUsername, password: Secret, print: String) {
    self.user = user
    self.password = password
    self.print = print
  }

  /// Nil for bytes that are not a payload of this version.
  init?(parsing bytes: [UInt8]) {
    guard let json = try? JSON(parsing: bytes), json["version"]?.integer == Self.version,
      let user = json["user"]?.string.flatMap({ UnixUsername(validating: $0) }), let print = json["print"]?.string,
      let password = json["password"]?.string.flatMap({ Base64.decode($0) })
    else { return nil }
    self.init(user: user, password: Secret(bytes: password), print: print)
  }

  /// What to do with a sealed password.
  enum Verdict: Equatable {
    case handOut(Secret)
    case forget(Reason)
  }

  /// Why a sealed password cannot be used any more.
  enum Reason: Equatable {
    /// The uid belonged to another user when the password was sealed, or the user had another name.
    case isAnothers
    /// The user's password was changed since. The keyring has another password now, or will have it.
    case wasChanged

    var explanation: String {
      switch self {
      case .isAnothers: "it was sealed under another user's name"
      case .wasChanged: "the password was changed since"
      }
    }
  }

  /// - Parameters:
  ///   - user: the user who asks.
  ///   - present: this user's ``ShadowPrint`` now.
  func verdict(for user: UnixUsername, present: String) -> Verdict {
    // Users whom no shadow file lists have the same print.
    guard self.user == user else { return .forget(.isAnothers) }
    return print == present ? .handOut(password) : .forget(.wasChanged)
  }
}
