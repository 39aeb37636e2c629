import Glibc

/// The sender of requests, for limits and the audit: an IPv4 address, or the IPv6 network of one site.
public struct ClientAddress: Sendable, Hashable {
  /// All unknown senders count as one.
  public static let unknown = ClientAddress(text: "unknown")

  /// The address as text, such as `192.0.2.7` or `2001:db8:1:2::/64`.
  public let text: String

  private init(text: String) { self.text = text }

  /// Nil unless it is a numeric address.
  public init?(_ address: String) {
    guard let bytes = PeerAddress(address)?.bytes else { return nil }
    self.init(bytes: bytes)
  }

  /// - Parameter bytes: the address's 4 or 16 bytes.
  private init(bytes: [UInt8]) {
    text = bytes.count == 4 ? bytes.map(String.init).joined(separator: ".") : Self.network(bytes)
  }

  /// The network around it: the first 24 bits of an IPv4 address, such as `192.0.2`, or the first 48 of an IPv6 network, such
  /// as `2001:db8:1`. A provider may give that much to one customer.
  var widerNetwork: String {
    let separator: Character = text.contains(":") ? ":" : "."
    return text.split(separator: separator).prefix(3).joined(separator: String(separator))
  }

  /// Whether the address is this computer's own. A neighbour in the same IPv6 network counts too. If the system does
  /// not list its addresses, all addresses count.
  var isThisMachine: Bool {
    if text.hasPrefix("127.") || self == Self.loopback { return true }
    guard let own = try? OwnNetworks.current() else { return true }
    return own.networks.contains { Self(bytes: $0.address) == self }
  }

  private static let loopback = ClientAddress(bytes: [UInt8](repeating: 0, count: 15) + [1])

  /// A site that has one IPv6 address usually has 2⁶⁴ of them.
  private static func network(_ bytes: [UInt8]) -> String {
    let groups = stride(from: 0, to: 8, by: 2).map { String(UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]), radix: 16) }
    return groups.joined(separator: ":") + "::/64"
  }
}

/// One complete numeric address.
public struct PeerAddress: Sendable, Hashable {
  /// The address's 4 or 16 bytes.
  let bytes: [UInt8]

  /// Nil unless it is a numeric address.
  public init?(_ address: String) {
    var four = in_addr()
    if inet_pton(AF_INET, address, &four) == 1 {
      bytes = withUnsafeBytes(of: four) { Array($0) }
      return
    }
    var six = in6_addr()
    // A zone (`%eth0`) has a meaning only on this computer.
    guard inet_pton(AF_INET6, String(address.prefix { $0 != "%" }), &six) == 1 else { return nil }
    let all = withUnsafeBytes(of: six) { Array($0) }
    let isMapped = all.prefix(12) == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]
    bytes = isMapped ? Array(all.suffix(4)) : all
  }
}

extension PeerAddress {
  /// Whether only this computer can reach the address: 127.0.0.0/8 and ::1.
  public var isLoopback: Bool {
    bytes.count == 4 ? bytes[0] == 127 : bytes == [UInt8](repeating: 0, count: 15) + [1]
  }
}
