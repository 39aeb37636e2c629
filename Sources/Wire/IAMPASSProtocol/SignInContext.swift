/// What the phone shows of a sign-in or a transaction: up to ten name–value pairs (an extension of `iampass-server`).
///
/// Values are stored, sent and hashed unchanged. Every display escapes them first (``DisplayText/escaped(_:)``).
public struct SignInContext: Sendable, Equatable {
  /// The names of a sign-in's own pairs, in the order of display.
  public static let names =
    ["host", "service", "user", "asked_by", withoutCode.name, "tty", "remote_host", "command"] + LongCommand.names
  /// The pair of a request without digits, for people to read. With another value it is an application's own.
  static let withoutCode = (name: "match_code", value: "none: the program shows no text")
  /// The greatest number of pairs. The three parts of a long command count as one.
  public static let greatestCount = 10
  /// The greatest length in characters. A longer command is shown in parts. Any other longer value is refused.
  public static let greatestValueLength = 1_000
  /// The greatest size as JSON, in bytes. A phone reads all its open requests in one reply of 64 KiB.
  public static let greatestSize = 8_192

  /// A pair that an application chose itself, such as an amount or a recipient.
  public struct Pair: Sendable, Equatable {
    /// The greatest length of a name, in characters.
    static let greatestNameLength = 40

    public let name: String
    public let value: String

    public init(name: String, value: String) {
      self.name = name
      self.value = value
    }

    /// An ASCII letter, then ASCII letters, digits, spaces, `_`, `-` and `.`: all programs sort such names in the same
    /// order.
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
  /// The computer's user who asks, if that is not ``user``. Older phones and services take this name for an
  /// application's own pair, and show it too.
  public var askedBy: String?
  /// Whether the asking program cannot show digits, so that the phone asks for none. The phone shows this, and signs it
  /// with the rest. Older phones show it as an application's own pair.
  public var isWithoutCode: Bool
  public var tty: String?
  public var remoteHost: String?
  /// The whole command, or the beginning of a long one.
  public let command: String?
  /// The rest of a command that is too long to show.
  public let longCommand: LongCommand?
  /// Sorted by name.
  public let further: [Pair]

  /// - Parameter command: the whole command, of any length.
  public init(
    host: String? = nil, service: String? = nil, user: String? = nil, askedBy: String? = nil,
    isWithoutCode: Bool = false, tty: String? = nil, remoteHost: String? = nil, command: String? = nil,
    further: [Pair] = []
  ) {
    self.init(
      host: host, service: service, user: user, askedBy: askedBy, isWithoutCode: isWithoutCode, tty: tty,
      remoteHost: remoteHost, command: command.map { LongCommand.split($0) ?? ($0, nil) }, further: further)
  }

  private init(
    host: String?, service: String?, user: String?, askedBy: String?, isWithoutCode: Bool, tty: String?,
    remoteHost: String?, command: (shown: String, rest: LongCommand?)?, further: [Pair]
  ) {
    self.host = host
    self.service = service
    self.user = user
    self.askedBy = askedBy
    self.isWithoutCode = isWithoutCode
    self.tty = tty
    self.remoteHost = remoteHost
    self.command = command?.shown
    longCommand = command?.rest
    self.further = further.sorted { $0.name < $1.name }
  }

  /// Whether an application requests something of its own, such as a payment.
  public var isTransaction: Bool { !further.isEmpty }

  /// The values in the order of ``names``, then the others.
  public var pairs: [(name: String, value: String)] {
    let code = isWithoutCode ? Self.withoutCode.value : nil
    let own = [host, service, user, askedBy, code, tty, remoteHost, command] + LongCommand.values(of: longCommand)
    return zip(Self.names, own).compactMap { name, value in value.map { (name, $0) } }
      + further.map { ($0.name, $0.value) }
  }

  /// Whether a phone can show all pairs in full. Otherwise the request must not be sent.
  public var isWithinBounds: Bool {
    pairs.count - (longCommand == nil ? 0 : LongCommand.names.count) <= Self.greatestCount
      && pairs.allSatisfy { Self.isShort($0.value) } && json.encoded().count <= Self.greatestSize
  }

  static func isShort(_ value: String) -> Bool { value.unicodeScalars.count <= greatestValueLength }

  public var json: JSON { .object(pairs.map { JSON.Member($0.name, .string($0.value)) }) }

  /// Refuses too many pairs or characters, other names, and values that are not strings. A phone shows a context in
  /// full or not at all.
  public init(_ json: JSON) throws(MessageError) {
    guard case .object(let members) = json else { throw .member("context") }
    var known: [String: String] = [:]
    var further: [Pair] = []
    for member in members where member.value != .null {
      guard let value = member.value.string else { throw .member("context.\(member.name)") }
      let isOwn = member.name != Self.withoutCode.name || value == Self.withoutCode.value
      if isOwn, Self.names.contains(member.name) {
        known[member.name] = value
      } else {
        guard Pair.isFit(member.name) else { throw .member("context") }
        further.append(Pair(name: member.name, value: value))
      }
    }
    let rest = try LongCommand(known)
    let command = known["command"].map { rest == nil ? LongCommand.split($0) ?? ($0, nil) : ($0, rest) }
    self.init(
      host: known["host"], service: known["service"], user: known["user"], askedBy: known["asked_by"],
      isWithoutCode: known[Self.withoutCode.name] != nil, tty: known["tty"], remoteHost: known["remote_host"],
      command: command, further: further)
    guard isWithinBounds else { throw .member("context") }
  }
}
