/// Why a text is refused as the address of a service or of its sessions.
public enum AddressError: Error, Equatable, Sendable {
  case notAnAddress
  /// Plain `http` to another machine. Others could read and change requests and replies on the way.
  case notHTTPS
  /// Another scheme, host or port than the configured service's.
  case foreignOrigin
}

/// The service's address: `https`, a host, perhaps a port and a path. Plain `http` is accepted for a loopback address
/// only.
public struct ServerURL: Sendable, Hashable, CustomStringConvertible {
  /// In bytes. A longer address is refused.
  static let greatestLength = 2048

  /// `scheme://host[:port]` in lower case. The default port is left out.
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

  /// The address of a route. Encodes `segments`; `query` must be encoded already.
  public func route(_ segments: [String], query: [(String, String)] = []) -> String {
    let path = segments.reduce(description) { $0 + "/" + PercentEncoding.encode($1) }
    if query.isEmpty { return path }
    return path + "?" + query.map { "\($0)=\($1)" }.joined(separator: "&")
  }

  /// `text` as an absolute address. Accepts this service's scheme, host and port, and a path from its root.
  /// - Throws: for any other address, which would receive a signature that is not meant for it.
  public func ownAddress(_ text: String) throws(AddressError) -> String {
    // The fast path, since a helper may read a thousand of these each second: only a path follows the origin.
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

  /// Literal addresses only. `localhost` is a name, and a lookup could return another machine.
  private static func isLoopback(_ host: String) -> Bool {
    if host == "[::1]" { return true }
    let numbers = host.split(separator: ".", omittingEmptySubsequences: false)
    return numbers.count == 4 && numbers[0] == "127" && numbers.allSatisfy { UInt8($0) != nil }
  }

  /// The parts of an absolute address. Refuses what another parser could read differently.
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

    /// Whether the text is short enough and unambiguous for every parser.
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

    /// `.` and `..`, plain and encoded.
    private static let climbing: Set = [".", "%2e", "..", ".%2e", "%2e.", "%2e%2e"]

    /// Whether other parsers could read this path with its query differently, or a signature could not cover it.
    static func isMisread(_ target: Substring.UTF8View) -> Bool {
      climbs(target) || RequestSigner.isAmbiguous(target: target)
    }

    /// Whether a segment is `.` or `..` (RFC 3986 §5.2.4).
    private static func climbs(_ path: Substring.UTF8View) -> Bool {
      path.prefix { $0 != UInt8(ascii: "?") }.split(separator: UInt8(ascii: "/")).contains { segment in
        guard segment.first == UInt8(ascii: ".") || segment.first == UInt8(ascii: "%") else { return false }
        return climbing.contains(String(decoding: segment, as: UTF8.self).lowercased())
      }
    }
  }
}
