/// Why a text is not the address of a service, or of one of its sessions.
public enum AddressError: Error, Equatable, Sendable {
  case notAnAddress
  /// Plain `http` to another machine: requests and replies could be read and changed on the way.
  case notHTTPS
  /// Another scheme, host or port than the configured service's.
  case foreignOrigin
}

/// The service's address: `https`, a host, perhaps a port and a path. Plain `http` only to a loopback address.
public struct ServerURL: Sendable, Hashable, CustomStringConvertible {
  /// Longer addresses are refused.
  static let greatestLength = 2048

  /// `scheme://host[:port]`, lower case, without a default port.
  public let origin: String
  /// The path without a final slash; may be empty.
  public let basePath: String

  public var description: String { origin + basePath }
  public var isEncrypted: Bool { origin.hasPrefix("https:") }

  public init(_ text: String) throws(AddressError) {
    let parts = try Parts(text)
    guard parts.scheme == "https" || Self.isLoopback(parts.host) else { throw .notHTTPS }
    var path = parts.path
    guard !path.utf8.contains(UInt8(ascii: "?")) else { throw .notAnAddress }
    while path.hasSuffix("/") { path.removeLast() }
    origin = parts.origin
    basePath = path
  }

  /// The address of a route. `segments` are encoded; `query` stands as it is.
  public func route(_ segments: [String], query: [(String, String)] = []) -> String {
    let path = ([description] + segments.map(PercentEncoding.encode)).joined(separator: "/")
    if query.isEmpty { return path }
    return path + "?" + query.map { "\($0)=\($1)" }.joined(separator: "&")
  }

  /// `text` as an absolute address, if it has this service's scheme, host and port, or is a path from its root.
  /// Anything else would carry a signature elsewhere.
  public func ownAddress(_ text: String) throws(AddressError) -> String {
    // As services write it, and as a thousand are read each second: nothing but a path follows the origin.
    let rest = text.utf8.dropFirst(origin.utf8.count)
    if rest.first == UInt8(ascii: "/"), text.utf8.starts(with: origin.utf8) {
      guard Parts.isAddress(text), !Parts.isMisread(rest) else { throw .notAnAddress }
      return text
    }
    if text.hasPrefix("/"), !text.hasPrefix("//") {
      let absolute = origin + text
      _ = try Parts(absolute)
      return absolute
    }
    guard try Parts(text).origin == origin else { throw .foreignOrigin }
    return text
  }

  /// By number only: `localhost` is a name, and names are looked up.
  private static func isLoopback(_ host: String) -> Bool {
    if host == "[::1]" { return true }
    let numbers = host.split(separator: ".", omittingEmptySubsequences: false)
    return numbers.count == 4 && numbers[0] == "127" && numbers.allSatisfy { UInt8($0) != nil }
  }

  /// An absolute address in parts, taken apart narrowly: what another reader could see differently is refused.
  private struct Parts {
    let scheme: String
    let host: String
    let port: UInt16?
    /// Path and query, as written.
    let path: String

    var origin: String {
      let usual: UInt16 = scheme == "https" ? 443 : 80
      return "\(scheme)://\(host)" + (port.map { $0 == usual ? "" : ":\($0)" } ?? "")
    }

    init(_ text: String) throws(AddressError) {
      guard Parts.isAddress(text) else { throw .notAnAddress }
      let lower = text.lowercased()
      guard let scheme = ["https", "http"].first(where: { lower.hasPrefix($0 + "://") }) else { throw .notAnAddress }
      self.scheme = scheme
      let rest = text.dropFirst(scheme.count + 3)
      let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
      (host, port) = try Parts.authority(String(rest[..<end]).lowercased())
      path = String(rest[end...])
      guard !Parts.isMisread(path.utf8[...]) else { throw .notAnAddress }
    }

    /// Neither too long nor with anything in it that readers see differently.
    static func isAddress(_ text: String) -> Bool {
      text.utf8.count <= ServerURL.greatestLength && text.utf8.allSatisfy(isAddressByte)
    }

    /// No control characters, spaces, backslashes, fragments or raw non-ASCII.
    private static func isAddressByte(_ byte: UInt8) -> Bool {
      switch Unicode.Scalar(byte) {
      case "\\", "#", "\"", "<", ">", "^", "`", "{", "|", "}": false
      default: (0x21...0x7E).contains(byte)
      }
    }

    private static func authority(_ text: String) throws(AddressError) -> (String, UInt16?) {
      let hostEnd: String.Index
      if text.hasPrefix("[") {
        guard let close = text.firstIndex(of: "]") else { throw .notAnAddress }
        hostEnd = text.index(after: close)
        let inside = text[text.index(after: text.startIndex)..<close]
        guard !inside.isEmpty, inside.allSatisfy({ $0.isHexDigit || $0 == ":" || $0 == "." }) else {
          throw .notAnAddress
        }
      } else {
        hostEnd = text.firstIndex(of: ":") ?? text.endIndex
        let name = text[..<hostEnd]
        guard !name.isEmpty, name.allSatisfy({ $0.isLetter || $0.isNumber || $0 == "-" || $0 == "." || $0 == "_" })
        else { throw .notAnAddress }
      }
      let tail = text[hostEnd...]
      if tail.isEmpty { return (String(text), nil) }
      let digits = tail.dropFirst()
      guard tail.first == ":", digits.allSatisfy(\.isNumber), let port = UInt16(digits), port > 0 else {
        throw .notAnAddress
      }
      return (String(text[..<hostEnd]), port)
    }

    /// `.` and `..`, plainly and encoded.
    private static let climbing: Set = [".", "%2e", "..", ".%2e", "%2e.", "%2e%2e"]

    /// Whether a path with its query is one that others take apart differently, or that no signature is wholly over.
    static func isMisread(_ target: Substring.UTF8View) -> Bool {
      climbs(target) || RequestSigner.isAmbiguous(target: target)
    }

    /// Whether a segment is one of those (RFC 3986 §5.2.4).
    private static func climbs(_ path: Substring.UTF8View) -> Bool {
      path.prefix { $0 != UInt8(ascii: "?") }.split(separator: UInt8(ascii: "/")).contains { segment in
        guard segment.first == UInt8(ascii: ".") || segment.first == UInt8(ascii: "%") else { return false }
        return climbing.contains(String(decoding: segment, as: UTF8.self).lowercased())
      }
    }
  }
}

/// Percent-encoding of one path segment or query value (RFC 3986 §2).
public enum PercentEncoding {
  /// All but the unreserved characters encoded, so that a space is `%20` and a plus `%2B`.
  public static func encode(_ text: String) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    let bytes = text.utf8.flatMap { byte -> [UInt8] in
      isUnreserved(byte) ? [byte] : [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: Array("-._~".utf8).contains(byte)
    }
  }
}
