/// The body of `code_use`: a code of a user was used on the reporting computer, which could not ask the phone (an
/// extension of `iampass-server`).
public struct CodeUseReport: Sendable, Equatable {
  /// What kind of code it was; the raw values are the words of `methods_offline`.
  public enum Way: String, Sendable, CaseIterable {
    /// A code that an administrator made on the computer.
    case recovery
    /// A code of the user's phone, which had no network.
    case phone
  }

  private static let idLengths = 1...64
  private static let times: ClosedRange<Int64> = 0...(1 << 40)
  private static let counts: ClosedRange<Int64> = 0...1_000

  /// The computer's id for the use. Two reports with the same id are one use.
  public let id: String
  public let way: Way
  /// Seconds since 1970, by the computer's clock.
  public let usedAt: Int64
  /// The number of the user's recovery codes left on the computer; nil if the computer does not send it.
  public let left: Int64?
  /// The computer and service, and the remote host.
  public let context: SignInContext
  /// Whether the opened session goes on. The phone then asks the user whose session it is.
  public let isOpen: Bool

  public init(id: String, way: Way, usedAt: Int64, left: Int64?, context: SignInContext, isOpen: Bool = false) {
    self.isOpen = isOpen
    self.id = id
    self.way = way
    self.usedAt = usedAt
    self.left = left
    self.context = context
  }

  public init(parsing body: [UInt8]) throws(MessageError) {
    try self.init(try JSON.reading(body))
  }

  init(_ json: JSON) throws(MessageError) {
    guard let context = json["context"] else { throw .member("context") }
    guard let way = Way(rawValue: try json.text("way")) else { throw .member("way") }
    let left = json["left"] == nil ? nil : try json.number("left")
    self.init(
      id: try json.text("use"), way: way, usedAt: try json.number("used_at"), left: left,
      context: try SignInContext(context), isOpen: json["open"]?.bool ?? false)
    guard Self.idLengths.contains(id.utf8.count), id.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw .member("use")
    }
    guard Self.times.contains(usedAt) else { throw .member("used_at") }
    if let left { guard Self.counts.contains(left) else { throw .member("left") } }
  }

  public var json: JSON {
    .object([
      "use": .string(id), "way": .string(way.rawValue), "used_at": .integer(usedAt),
      "left": left.map { .integer($0) }, "context": context.json, "open": isOpen ? .bool(true) : nil,
    ])
  }

  public func encoded() -> [UInt8] { json.encoded() }
}

/// The reply to a ``CodeUseReport``.
public struct CodeUseReply: Sendable, Equatable {
  /// Whether the user has said on the phone that someone else used the code. The session must then end.
  public let isDisowned: Bool

  public init(isDisowned: Bool) { self.isDisowned = isDisowned }

  public init(parsing body: [UInt8]) throws(MessageError) {
    let json = try JSON.reading(body)
    guard json["status"]?.bool == true else { throw .member("status") }
    self.init(isDisowned: json["disowned"]?.bool ?? false)
  }

  public func encoded() -> [UInt8] {
    JSON.object(["status": .bool(true), "disowned": isDisowned ? .bool(true) : nil]).encoded()
  }
}

extension JSON {
  /// The member `codes_used`: uses of codes, the newest first. Uses that this version cannot read are left out. Empty
  /// from an older service.
  public var codesUsed: [CodeUseReport] {
    (self["codes_used"]?.array ?? []).compactMap { try? CodeUseReport($0) }
  }
}
