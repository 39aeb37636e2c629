import IAMPASSProtocol

/// A user of one application, known by the id that the application chose.
struct User: Sendable {
  /// The greatest length of an id in characters.
  static let greatestNameLength = 1_000
  /// The greatest length of an id in bytes of UTF-8. PostgreSQL's indices refuse rows of 2,704 bytes.
  static let greatestNameSize = 2_000

  let id: Int64
  let application: String
  let name: String
  /// The locum who may answer once for the user, and until when; nil if there is none.
  let locum: (Locum, until: UnixTime)?

  static func isFit(_ name: String) -> Bool {
    !name.isEmpty && name.unicodeScalars.count <= greatestNameLength && name.utf8.count <= greatestNameSize
      && !name.unicodeScalars.contains("\0")
  }
}
