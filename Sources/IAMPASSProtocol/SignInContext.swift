/// What the phone shows of a sign-in or of a transaction (an addition of `iampass-server`): up to ten name–value pairs.
///
/// Values are kept, sent and hashed as they came; whoever shows one escapes it first (``DisplayText/escaped(_:)``).
public struct SignInContext: Sendable, Equatable {
  /// Names of a sign-in's own pairs, in the order in which they are shown.
  public static let names = ["host", "service", "user", "tty", "remote_host", "command"] + LongCommand.names
  /// More are refused. What is said of a long command beside its beginning does not count.
  public static let greatestCount = 10
  /// In characters. A longer command is shown by its parts; another value that is longer is refused.
  public static let greatestValueLength = 1_000
  /// In bytes, as JSON; more is refused. A phone reads the open requests in one reply of 64 KiB.
  public static let greatestSize = 8_192

  /// A pair beyond ``names``, as an application chose it: an amount, a recipient.
  public struct Pair: Sendable, Equatable {
    /// Longer names are refused, in characters.
    static let greatestNameLength = 40

    public let name: String
    public let value: String

    public init(name: String, value: String) {
      self.name = name
      self.value = value
    }

    /// A letter, then letters, digits, spaces, `_`, `-` and `.`, all ASCII: what every program sorts alike.
    static func isFit(_ name: String) -> Bool {
      let letters = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8)
      let others = Set("0123456789 _-.".utf8)
      return name.utf8.count <= greatestNameLength && name.utf8.first.map(letters.contains) == true
        && name.utf8.allSatisfy { letters.contains($0) || others.contains($0) }
    }
  }

  public var host: String?
  public var service: String?
  public var user: String?
  public var tty: String?
  public var remoteHost: String?
  /// The whole command, or the beginning of a long one.
  public let command: String?
  /// What is said of a command that is too long to be shown.
  public let longCommand: LongCommand?
  /// By name.
  public let further: [Pair]

  /// - Parameter command: whole, however long.
  public init(
    host: String? = nil, service: String? = nil, user: String? = nil, tty: String? = nil, remoteHost: String? = nil,
    command: String? = nil, further: [Pair] = []
  ) {
    self.init(
      host: host, service: service, user: user, tty: tty, remoteHost: remoteHost,
      command: command.map { LongCommand.split($0) ?? ($0, nil) }, further: further)
  }

  private init(
    host: String?, service: String?, user: String?, tty: String?, remoteHost: String?,
    command: (shown: String, rest: LongCommand?)?, further: [Pair]
  ) {
    self.host = host
    self.service = service
    self.user = user
    self.tty = tty
    self.remoteHost = remoteHost
    self.command = command?.shown
    longCommand = command?.rest
    self.further = further.sorted { $0.name < $1.name }
  }

  /// An application asks for something of its own, such as a payment.
  public var isTransaction: Bool { !further.isEmpty }

  /// The values in the order of ``names``, then the others.
  public var pairs: [(name: String, value: String)] {
    let own = [host, service, user, tty, remoteHost, command] + LongCommand.values(of: longCommand)
    return zip(Self.names, own).compactMap { name, value in value.map { (name, $0) } }
      + further.map { ($0.name, $0.value) }
  }

  /// Whether it may be asked with: not so many pairs, nor so long, that a phone could not show them all.
  public var isWithinBounds: Bool {
    pairs.count - (longCommand == nil ? 0 : LongCommand.names.count) <= Self.greatestCount
      && pairs.allSatisfy { Self.isShort($0.value) } && json.encoded().count <= Self.greatestSize
  }

  static func isShort(_ value: String) -> Bool { value.unicodeScalars.count <= greatestValueLength }

  public var json: JSON { .object(pairs.map { JSON.Member($0.name, .string($0.value)) }) }

  /// Too many pairs or characters, names that are not plain and values of another type are refused: all of a context is
  /// shown, or there is none.
  public init(_ json: JSON) throws(MessageError) {
    guard case .object(let members) = json else { throw .member("context") }
    var known: [String: String] = [:]
    var further: [Pair] = []
    for member in members where member.value != .null {
      guard let value = member.value.string else { throw .member("context.\(member.name)") }
      if Self.names.contains(member.name) {
        known[member.name] = value
      } else {
        guard Pair.isFit(member.name) else { throw .member("context") }
        further.append(Pair(name: member.name, value: value))
      }
    }
    let rest = try LongCommand(known)
    let command = known["command"].map { rest == nil ? LongCommand.split($0) ?? ($0, nil) : ($0, rest) }
    self.init(
      host: known["host"], service: known["service"], user: known["user"], tty: known["tty"],
      remoteHost: known["remote_host"], command: command, further: further)
    guard isWithinBounds else { throw .member("context") }
  }
}

/// What is said of a command that is too long to be shown, beside its beginning.
public struct LongCommand: Sendable, Equatable {
  /// Characters shown of each end.
  public static let shownLength = 500
  static let names = ["command_end", "command_length", "command_sha256"]

  /// The last ``shownLength`` characters.
  public let end: String
  /// Of the whole, in characters, decimal.
  public let length: String
  /// SHA-256 of the whole text as UTF-8, 64 lower-case hexadecimal digits.
  public let sha256: String

  /// The beginning of `command`, and what is said of the rest; nil for one that is shown whole.
  static func split(_ command: String) -> (shown: String, rest: LongCommand?)? {
    guard isLong(command) else { return nil }
    let scalars = command.unicodeScalars
    let rest = LongCommand(
      end: String(scalars.suffix(shownLength)), length: String(scalars.count),
      sha256: Digest.hexadecimal(Digest.sha256(Array(command.utf8))))
    return (String(scalars.prefix(shownLength)), rest)
  }

  /// Whether a command has more characters than are shown.
  public static func isLong(_ command: String) -> Bool { !SignInContext.isShort(command) }

  static func values(of command: LongCommand?) -> [String?] { [command?.end, command?.length, command?.sha256] }
}

extension LongCommand {
  /// Nil where nothing is said; a part alone, or one of another form, is refused.
  fileprivate init?(_ known: [String: String]) throws(MessageError) {
    let values = Self.names.compactMap { known[$0] }
    if values.isEmpty { return nil }
    guard values.count == Self.names.count, known["command"] != nil, (1...12).contains(values[1].utf8.count),
      values[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }), values[2].utf8.count == 64,
      values[2].utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
    else { throw .member("context.command") }
    self.init(end: values[0], length: values[1], sha256: values[2])
  }
}
