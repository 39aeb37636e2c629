/// A computer asks to join. It repeats the request until it knows the result.
public struct JoinRequest: Sendable, Equatable {
  public static let path = "join"
  /// The greatest length of a computer's name in characters.
  public static let greatestNameLength = 64

  /// The code's secret.
  public let code: Secret
  /// The computer's own name, which becomes its credential's name and host.
  public let name: String
  /// The new credential's secret, made by the computer. So a repeated request does not make a second credential.
  public let secret: Secret

  public init(code: Secret, name: String, secret: Secret) {
    self.code = code
    self.name = name
    self.secret = secret
  }

  public init(parsing body: [UInt8]) throws(MessageError) {
    let json = try JSON.reading(body)
    code = Secret(try json.text("code"))
    name = try json.text("name")
    secret = Secret(try json.text("secret"))
    guard Self.isName(name) else { throw .member("name") }
    // The only form that both signing schemes accept.
    guard Base64.decode(secret.exposedValue)?.count == 24, secret.exposedBytes.count == 32 else {
      throw .member("secret")
    }
  }

  public func encoded() -> [UInt8] {
    JSON.object([
      "code": .string(code.exposedValue), "name": .string(name), "secret": .string(secret.exposedValue),
    ]).encoded()
  }

  /// A host name (RFC 1123 §2.1), without a final dot.
  public static func isName(_ text: String) -> Bool {
    guard (1...greatestNameLength).contains(text.utf8.count) else { return false }
    return text.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { label in
      guard let first = label.utf8.first, let last = label.utf8.last else { return false }
      return first != UInt8(ascii: "-") && last != UInt8(ascii: "-")
        && label.utf8.allSatisfy { byte in
          (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) && byte != UInt8(ascii: "@")
            || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "-")
            || byte == UInt8(ascii: "_")
        }
    }
  }
}

/// The service's reply to a join that it did not refuse.
public enum JoinReply: Sendable, Equatable {
  /// - Parameters:
  ///   - credential: the new credential's id.
  ///   - application: the application's name, for people.
  ///   - fleet: the content of the code's ``JoinCode/fleet`` digest; nil for a code without one.
  case joined(credential: String, host: String, application: String, fleet: FleetAnchor? = nil)
  /// An administrator must approve the join. Ask again.
  case waiting

  public init(parsing body: [UInt8]) throws(MessageError) {
    let json = try JSON.acknowledged(body)
    if json["waiting"]?.bool == true {
      self = .waiting
    } else {
      self = .joined(
        credential: try json.text("application_id"), host: try json.text("host"),
        application: try json.text("application"), fleet: try json.optional("fleet", FleetAnchor.init))
    }
  }

  public func encoded() -> [UInt8] {
    switch self {
    case .waiting: JSON.object(["status": .bool(true), "waiting": .bool(true)]).encoded()
    case .joined(let credential, let host, let application, let fleet):
      JSON.object([
        "status": .bool(true), "application_id": .string(credential), "host": .string(host),
        "application": .string(application), "fleet": fleet?.json,
      ]).encoded()
    }
  }
}
