import Glibc
import IAMPASSProtocol
import SystemLibcrypt

/// yescrypt (crypt(5)) over recovery codes, by the system's libcrypt.
///
/// All codes of a set have one salt, so that one hash shows which of them was typed, or none.
public struct RecoveryHash: Sendable {
  /// libxcrypt's cost for 8 MiB and about 10 ms. It is half of Debian's cost for passwords, which suffices because
  /// codes are random.
  static let cost: UInt = 4
  /// The beginning of each setting of this cost. A file with another cost could make each sign-in very slow.
  static let beginning = "$y$j8T$"
  /// The setting for users without codes, who must wait as long as those with codes. Codes do not have this salt.
  static let nobodysSetting = "$y$j8T$iampassnobodyhasthis.."
  /// Bytes of salt.
  private static let saltSize = 16

  public init() {}

  /// A setting with a new salt.
  func newSetting() throws(RecoveryError) -> String {
    try open()
    guard let salt = Digest.randomBytes(Self.saltSize) else { throw .cannotHash("no random numbers") }
    var found = [CChar](repeating: 0, count: Int(IAMPASS_CRYPT_SIZE))
    guard iampass_crypt_setting(Self.cost, salt, &found) == 1, case let setting = Self.text(found),
      setting.hasPrefix(Self.beginning)
    else { throw .cannotHash("libcrypt does not know yescrypt") }
    return setting
  }

  /// The hash, which begins with its setting.
  func hash(_ code: RecoveryCode, by setting: String) throws(RecoveryError) -> String {
    try open()
    var found = [CChar](repeating: 0, count: Int(IAMPASS_CRYPT_SIZE))
    let isDone = code.characters.withTerminatedBytes { iampass_crypt($0, setting, &found) } == 1
    let hash = Self.text(found)
    guard isDone, hash.hasPrefix(setting), hash.utf8.count > setting.utf8.count else {
      throw .cannotHash("libcrypt cannot hash now, for example for lack of memory")
    }
    return hash
  }

  private func open() throws(RecoveryError) {
    var trouble = [CChar](repeating: 0, count: 200)
    guard iampass_libcrypt_open(&trouble, trouble.count) == 1 else {
      throw .cannotHash(DisplayText.sanitized(Self.text(trouble)))
    }
  }

  private static func text(_ characters: [CChar]) -> String {
    String(decoding: characters.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
