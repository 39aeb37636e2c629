/// What the phone may show of a sign-in (an addition of `iampass-server`): up to ten name–value pairs.
public struct SignInContext: Sendable, Equatable {
  /// Names of a sign-in's own pairs, in the order in which they are shown.
  public static let names = ["host", "service", "user", "tty", "remote_host", "command"]
  /// More are refused.
  public static let greatestCount = 10
  /// Longer values are cut, in characters.
  public static let greatestValueLength = 200

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
  public var command: String?
  /// By name.
  public let further: [Pair]

  public init(
    host: String? = nil, service: String? = nil, user: String? = nil, tty: String? = nil, remoteHost: String? = nil,
    command: String? = nil, further: [Pair] = []
  ) {
    self.host = host
    self.service = service
    self.user = user
    self.tty = tty
    self.remoteHost = remoteHost
    self.command = command
    self.further = further.sorted { $0.name < $1.name }
  }

  /// The values in the order of ``names``, then the others.
  public var pairs: [(name: String, value: String)] {
    zip(Self.names, [host, service, user, tty, remoteHost, command]).compactMap { name, value in
      value.map { (name, $0) }
    } + further.map { ($0.name, $0.value) }
  }

  public var json: JSON {
    .object(
      pairs.map {
        JSON.Member($0.name, .string(DisplayText.sanitized($0.value, limit: Self.greatestValueLength)))
      })
  }

  /// Too many pairs, names that are not plain and values of another type are refused: all of a context is shown, or
  /// there is none.
  public init(_ json: JSON) throws(MessageError) {
    guard case .object(let members) = json else { throw .member("context") }
    func text(_ member: JSON.Member) throws(MessageError) -> String {
      guard let string = member.value.string else { throw .member("context.\(member.name)") }
      return DisplayText.sanitized(string, limit: Self.greatestValueLength)
    }
    var known: [String: String] = [:]
    var further: [Pair] = []
    for member in members where member.value != .null {
      if Self.names.contains(member.name) {
        known[member.name] = try text(member)
      } else {
        guard Pair.isFit(member.name) else { throw .member("context") }
        further.append(Pair(name: member.name, value: try text(member)))
      }
    }
    guard known.count + further.count <= Self.greatestCount else { throw .member("context") }
    self.init(
      host: known["host"], service: known["service"], user: known["user"], tty: known["tty"],
      remoteHost: known["remote_host"], command: known["command"], further: further)
  }
}
