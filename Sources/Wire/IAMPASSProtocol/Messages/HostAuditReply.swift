/// A page of the service's audit of one computer's own sign-ins, the newest first.
public struct HostAuditReply: Sendable, Equatable {
  public struct Entry: Sendable, Equatable {
    /// Later entries have greater ids.
    public let id: Int64
    /// Unix time in milliseconds.
    public let at: Int64
    /// `asked`, `approved`, `denied`, `ended`, `walked away` or `back`; later versions may send other words.
    public let event: String
    public let session: String
    /// Further facts, by the audit's names: `account`, `phone`, `service`, `tty`, `remote_host`, `address`, `reason`.
    public let details: [String: String]

    public init(id: Int64, at: Int64, event: String, session: String, details: [String: String]) {
      self.id = id
      self.at = at
      self.event = event
      self.session = session
      self.details = details
    }
  }

  /// The names of ``Entry/details``.
  public static let detailNames = ["account", "phone", "service", "tty", "remote_host", "address", "reason"]
  /// The most bytes of entries on a page. A whole reply stays below 64 KiB.
  public static let greatestPage = 48 * 1024

  /// The id of the credential whose entries these are.
  public let credential: String
  public let entries: [Entry]
  /// Whether a next page has older entries. Their ids are below the last id here.
  public let hasMore: Bool

  public init(credential: String, entries: [Entry], hasMore: Bool) {
    self.credential = credential
    self.entries = entries
    self.hasMore = hasMore
  }

  public init(parsing body: [UInt8]) throws(MessageError) {
    let json = try JSON.acknowledged(body)
    credential = try json.text("for")
    guard let more = json["more"]?.bool else { throw .member("more") }
    hasMore = more
    guard let items = json["entries"]?.array else { throw .member("entries") }
    var entries: [Entry] = []
    for item in items { entries.append(try Entry(item)) }
    self.entries = entries
  }

  public func encoded() -> [UInt8] {
    JSON.object([
      "status": .bool(true), "for": .string(credential), "more": .bool(hasMore),
      "entries": .array(entries.map(\.json)),
    ]).encoded()
  }
}

extension HostAuditReply.Entry {
  fileprivate init(_ json: JSON) throws(MessageError) {
    var details: [String: String] = [:]
    for name in HostAuditReply.detailNames { details[name] = json[name]?.string }
    self.init(
      id: try json.number("id"), at: try json.number("at"), event: try json.text("event"),
      session: try json.text("session"), details: details)
  }

  public var json: JSON {
    let fixed = [
      JSON.Member("id", .integer(id)), JSON.Member("at", .integer(at)), JSON.Member("event", .string(event)),
      JSON.Member("session", .string(session)),
    ]
    let known = HostAuditReply.detailNames.compactMap { name in
      details[name].map { JSON.Member(name, .string($0)) }
    }
    return .object(fixed + known)
  }
}
