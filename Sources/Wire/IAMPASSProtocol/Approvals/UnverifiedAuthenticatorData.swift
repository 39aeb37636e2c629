/// An authenticator's data about itself and about a new credential (Web Authentication, level 2, §6.1), parsed. Nothing
/// is verified.
public struct UnverifiedAuthenticatorData: Sendable, Equatable {
  /// The greatest length in bytes. A credential's id has at most 1,023 bytes, and extensions are not requested.
  static let greatestLength = 2_048

  /// What the bits of the flags byte mean.
  public struct Flags: OptionSet, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Somebody touched the authenticator.
    public static let userPresent = Flags(rawValue: 0x01)
    /// The authenticator verified its user: by fingerprint, face or PIN.
    public static let userVerified = Flags(rawValue: 0x04)
    /// The credential may be copied to other devices: a synced passkey (level 3, §6.1.3). It holds for all of its life.
    public static let backupEligible = Flags(rawValue: 0x08)
    public static let hasCredential = Flags(rawValue: 0x40)
    public static let hasExtensions = Flags(rawValue: 0x80)
  }

  /// A new credential's part (§6.5.1).
  public struct Credential: Sendable, Equatable {
    /// The lengths of the id in bytes (§5.8.3).
    static let idLengths = 1...1_023

    public let id: [UInt8]
    /// 64 bytes, x then y, of ECDSA P-256. No other algorithm is accepted.
    public let coordinates: [UInt8]
  }

  /// SHA-256 of the relying party's id.
  public let rpIDHash: [UInt8]
  public let flags: Flags
  public let counter: UInt32
  public let credential: Credential?

  /// Nil unless the bytes exactly match their own flags and lengths.
  public init?(_ bytes: [UInt8]) {
    guard bytes.count <= Self.greatestLength else { return nil }
    var reader = Reader(bytes)
    guard let hash = reader.take(32), let flags = reader.take(1)?.first, let counter = reader.takeNumber(bytes: 4)
    else {
      return nil
    }
    rpIDHash = hash
    self.flags = Flags(rawValue: flags)
    self.counter = UInt32(counter)
    if self.flags.contains(.hasCredential) {
      guard let credential = Self.credential(&reader) else { return nil }
      self.credential = credential
    } else {
      credential = nil
    }
    // Extensions are a CBOR map, which is not used. Without extensions nothing may follow.
    if self.flags.contains(.hasExtensions) {
      guard let head = reader.take(1)?.first, head >> 5 == 5 else { return nil }
    } else {
      guard reader.isAtEnd else { return nil }
    }
  }

  private static func credential(_ reader: inout Reader) -> Credential? {
    // The AAGUID names the authenticator's model; without an attestation it proves nothing.
    guard reader.take(16) != nil, let length = reader.takeNumber(bytes: 2), Credential.idLengths.contains(length),
      let id = reader.take(length), let coordinates = es256Coordinates(&reader)
    else { return nil }
    return Credential(id: id, coordinates: coordinates)
  }

  /// A COSE key of ES256 (RFC 9053 §7.1.1). CTAP 2 allows only one encoding, so no CBOR reader is needed.
  private static func es256Coordinates(_ reader: inout Reader) -> [UInt8]? {
    let head: [UInt8] = [
      0xA5,  // a map of five
      0x01, 0x02,  // kty: EC2
      0x03, 0x26,  // alg: ES256
      0x20, 0x01,  // crv: P-256
      0x21, 0x58, 0x20,  // x: 32 bytes
    ]
    let between: [UInt8] = [0x22, 0x58, 0x20]  // y: 32 bytes
    guard reader.take(head.count) == head, let x = reader.take(32), reader.take(between.count) == between,
      let y = reader.take(32)
    else { return nil }
    return x + y
  }
}

/// Takes bytes from the front, never beyond the end.
private struct Reader {
  private var rest: ArraySlice<UInt8>

  init(_ bytes: [UInt8]) { rest = bytes[...] }

  var isAtEnd: Bool { rest.isEmpty }

  mutating func take(_ count: Int) -> [UInt8]? {
    guard count >= 0, count <= rest.count else { return nil }
    defer { rest = rest.dropFirst(count) }
    return Array(rest.prefix(count))
  }

  /// An unsigned big-endian number of up to 7 bytes.
  mutating func takeNumber(bytes count: Int) -> Int? {
    take(count)?.reduce(0) { $0 << 8 | Int($1) }
  }
}
