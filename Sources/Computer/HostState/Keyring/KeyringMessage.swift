import HostSystem
import IAMPASSProtocol

/// The module's request at iampass-keyring.socket. Only root can connect. The sender closes its side after the request.
public struct KeyringRequest: Sendable, Equatable {
  public enum Act: Sendable, Equatable {
    /// Seal and keep this password. The print is the user's ``ShadowPrint`` when the password was verified.
    case seal(password: Secret, print: String)
    /// Return the password.
    case open
  }

  /// PAM_MAX_RESP_SIZE of Linux-PAM, in bytes.
  public static let greatestPassword = 512
  /// The greatest length of a request in bytes.
  public static let greatestLength = 1_024
  private static let kinds: (seal: UInt8, open: UInt8) = (1, 2)

  public let user: UnixUsername
  public let act: Act

  public init(user: UnixUsername, act: Act) {
    self.user = user
    self.act = act
  }

  /// Nil for a password that is empty or too long.
  public func encoded() -> [UInt8]? {
    let name = Array(user.text.utf8)
    guard let length = UInt8(exactly: name.count) else { return nil }
    switch act {
    case .open: return [Self.kinds.open, length] + name
    case .seal(let password, let print):
      let bytes = password.exposedBytes
      let digest = Array(print.utf8)
      guard Self.isPassword(bytes[...]), digest.count == ShadowPrint.length else { return nil }
      return [Self.kinds.seal, length] + name + digest + bytes
    }
  }

  /// Nil if the bytes are not a whole request.
  public init?(decoding bytes: [UInt8]) {
    guard bytes.count <= Self.greatestLength, bytes.count >= 2 else { return nil }
    let nameEnd = 2 + Int(bytes[1])
    guard nameEnd <= bytes.count, let name = String(validating: bytes[2..<nameEnd], as: UTF8.self),
      let user = UnixUsername(validating: name)
    else { return nil }
    let rest = bytes[nameEnd...]
    switch bytes[0] {
    case Self.kinds.open where rest.isEmpty: self.init(user: user, act: .open)
    case Self.kinds.seal:
      let password = rest.dropFirst(ShadowPrint.length)
      guard let print = String(validating: rest.prefix(ShadowPrint.length), as: UTF8.self), Self.isPassword(password)
      else { return nil }
      self.init(user: user, act: .seal(password: Secret(bytes: Array(password)), print: print))
    default: return nil
    }
  }

  /// Whether PAM can carry these bytes as a password.
  static func isPassword(_ bytes: ArraySlice<UInt8>) -> Bool {
    (1...greatestPassword).contains(bytes.count) && !bytes.contains(0)
  }
}

/// The answer to ``KeyringRequest/Act/open``: a byte that says whether there is a password, and the password.
public enum KeyringReply {
  public static func encoded(_ password: Secret?) -> [UInt8] { password.map { [1] + $0.exposedBytes } ?? [0] }

  /// The password; nil without one, and if the bytes are not a whole answer.
  public static func password(decoding bytes: [UInt8]) -> Secret? {
    guard bytes.first == 1, KeyringRequest.isPassword(bytes.dropFirst()) else { return nil }
    return Secret(bytes: Array(bytes.dropFirst()))
  }
}
