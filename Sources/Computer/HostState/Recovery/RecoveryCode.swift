import Glibc
import IAMPASSProtocol

/// A recovery code: 50 random bits, as two groups of five characters that are not easily confused.
public struct RecoveryCode: Sendable, Equatable {
  /// Base 32 without `i`, `l`, `o` and `u`.
  private static let alphabet = Array("0123456789abcdefghjkmnpqrstvwxyz".utf8)
  private static let groupLength = 5
  private static let bits = 50

  /// The ten characters without the hyphen, which are hashed.
  let characters: Secret

  /// The form on paper, such as `7q2mf-x0k9d`.
  public var exposedText: String {
    let text = characters.exposedBytes
    return String(decoding: text.prefix(Self.groupLength), as: UTF8.self) + "-"
      + String(decoding: text.dropFirst(Self.groupLength), as: UTF8.self)
  }

  /// Makes a new code; nil if the kernel gives no random bytes.
  public static func draw() -> RecoveryCode? {
    guard let bytes = Digest.randomBytes(8) else { return nil }
    let number = bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    let places = stride(from: bits - 5, through: 0, by: -5)
    return RecoveryCode(characters: Secret(bytes: places.map { alphabet[Int(number >> UInt64($0) & 31)] }))
  }

  private init(characters: Secret) { self.characters = characters }

  /// Parses what a user typed; nil if it does not have the form of a code. A hyphen or a blank must separate the two
  /// groups: otherwise every password of ten letters would be tried as a code. Capital letters, `O` for `0`, and `I` or
  /// `L` for `1` are accepted.
  public init?(typed: Secret) {
    // Users who copy a code may copy the blanks around it.
    let text = typed.exposedBytes.drop { $0 == 0x20 }.reversed().drop { $0 == 0x20 }.reversed()
    let bytes = Array(text)
    guard bytes.count == 2 * Self.groupLength + 1,
      [UInt8(ascii: "-"), UInt8(ascii: " ")].contains(bytes[Self.groupLength])
    else { return nil }
    var found: [UInt8] = []
    for byte in bytes[..<Self.groupLength] + bytes[(Self.groupLength + 1)...] {
      let character = Self.meant(by: byte)
      guard Self.alphabet.contains(character) else { return nil }
      found.append(character)
    }
    characters = Secret(bytes: found)
  }

  private static func meant(by byte: UInt8) -> UInt8 {
    let small = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    switch small {
    case UInt8(ascii: "o"): return UInt8(ascii: "0")
    case UInt8(ascii: "i"), UInt8(ascii: "l"): return UInt8(ascii: "1")
    default: return small
    }
  }
}
