/// The parts of a command that is too long to show, besides its beginning.
public struct LongCommand: Sendable, Equatable {
  /// The number of characters shown of each end.
  public static let shownLength = 500
  static let names = ["command_end", "command_length", "command_sha256"]

  /// The last ``shownLength`` characters.
  public let end: String
  /// The length of the whole command in characters, as decimal digits.
  public let length: String
  /// SHA-256 of the whole command as UTF-8: 64 lower-case hexadecimal digits.
  public let sha256: String

  /// The beginning of `command` and its other parts; nil for a command that is shown whole.
  static func split(_ command: String) -> (shown: String, rest: LongCommand?)? {
    guard isLong(command) else { return nil }
    let scalars = command.unicodeScalars
    let rest = LongCommand(
      end: String(scalars.suffix(shownLength)), length: String(scalars.count),
      sha256: Digest.hexadecimal(Digest.sha256(Array(command.utf8))))
    return (String(scalars.prefix(shownLength)), rest)
  }

  /// Whether a command is too long to show whole.
  public static func isLong(_ command: String) -> Bool { !SignInContext.isShort(command) }

  static func values(of command: LongCommand?) -> [String?] { [command?.end, command?.length, command?.sha256] }
}

extension LongCommand {
  /// Nil without such parts. Refuses an incomplete or malformed set.
  init?(_ known: [String: String]) throws(MessageError) {
    let values = Self.names.compactMap { known[$0] }
    if values.isEmpty { return nil }
    guard values.count == Self.names.count, known["command"] != nil, (1...12).contains(values[1].utf8.count),
      values[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }), values[2].utf8.count == 64,
      values[2].utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
    else { throw .member("context.command") }
    self.init(end: values[0], length: values[1], sha256: values[2])
  }
}
