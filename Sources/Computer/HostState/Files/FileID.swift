/// Random ids that name files: of session records, and of notes beside them.
enum FileID {
  /// Whether a file could have this id. A file whose name is not such an id is not one of these.
  static func isValid(_ text: String) -> Bool { text.utf8.count == 32 && text.utf8.allSatisfy(isHexadecimal) }

  static func isHexadecimal(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
  }
}
