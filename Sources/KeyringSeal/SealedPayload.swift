import HostState
import HostSystem
import IAMPASSProtocol

/// What is sealed of a user: the login password, and what the system kept of it at that time.
struct SealedPayload: Equatable {
  private static let version: Int64 = 1

  let password: Secret
  /// The user's ``ShadowPrint`` as the password was right.
  let print: String

  func encoded() -> [UInt8] {
    JSON.object([
      "version": .integer(Self.version), "print": .string(print),
      "password": .string(Base64.encode(password.exposedBytes)),
    ]).encoded()
  }

  init(password: Secret, print: String) {
    self.password = password
    self.print = print
  }

  /// Nil for bytes that are not a payload of this version.
  init?(parsing bytes: [UInt8]) {
    guard let json = try? JSON(parsing: bytes), json["version"]?.integer == Self.version,
      let print = json["print"]?.string, let password = json["password"]?.string.flatMap({ Base64.decode($0) })
    else { return nil }
    self.init(password: Secret(bytes: password), print: print)
  }

  /// What is done with a sealed password.
  enum Verdict: Equatable {
    case handOut(Secret)
    /// The user's password was changed since: the keyring has another one by now, or will have.
    case forget
  }

  /// - Parameter present: the user's ``ShadowPrint`` now.
  func verdict(present: String) -> Verdict { print == present ? .handOut(password) : .forget }
}
