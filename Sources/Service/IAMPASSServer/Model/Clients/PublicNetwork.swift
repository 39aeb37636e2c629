import Glibc
import NIOCore

extension SocketAddress {
  /// Whether the address belongs to the internet, not to this computer or a private network (RFC 6890).
  var isPublic: Bool {
    switch self {
    case .v4(let address):
      return withUnsafeBytes(of: address.address.sin_addr) { PublicNetwork.contains(v4: Array($0)) }
    case .v6(let address):
      return withUnsafeBytes(of: address.address.sin6_addr) { PublicNetwork.contains(v6: Array($0)) }
    case .unixDomainSocket: return false
    }
  }
}

/// The addresses of the internet.
enum PublicNetwork {
  /// The first address and the length of each network that is not public.
  private static let excluded: [(start: [UInt8], bits: Int)] = [
    ([0, 0, 0, 0], 8), ([10, 0, 0, 0], 8), ([100, 64, 0, 0], 10), ([127, 0, 0, 0], 8), ([169, 254, 0, 0], 16),
    ([172, 16, 0, 0], 12), ([192, 0, 0, 0], 24), ([192, 0, 2, 0], 24), ([192, 168, 0, 0], 16), ([198, 18, 0, 0], 15),
    ([198, 51, 100, 0], 24), ([203, 0, 113, 0], 24), ([224, 0, 0, 0], 3),
  ]

  /// 64:ff9b::/96, whose addresses end with an IPv4 address.
  private static let translation: [UInt8] = [0x00, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0]

  /// The IPv4 address that a NAT64 connects to; nil for any other address.
  static func translated(_ address: [UInt8]) -> [UInt8]? {
    address.count == 16 && isWithin(address, translation, 96) ? Array(address.suffix(4)) : nil
  }

  static func contains(v4 address: [UInt8]) -> Bool {
    address.count == 4 && !excluded.contains { isWithin(address, $0.start, $0.bits) }
  }

  /// The IPv6 networks of the internet, 2000::/3, without those that contain an IPv4 address.
  static func contains(v6 address: [UInt8]) -> Bool {
    guard address.count == 16 else { return false }
    // A DNS64 gives such an address to networks without IPv4. Their NAT64 connects to the IPv4 address at its end (RFC
    // 6052 §2.1).
    if let inside = translated(address) { return contains(v4: inside) }
    guard isWithin(address, [0x20], 3) else { return false }
    // 6to4, Teredo, and the addresses for examples.
    return !isWithin(address, [0x20, 0x02], 16) && !isWithin(address, [0x20, 0x01, 0, 0], 23)
      && !isWithin(address, [0x20, 0x01, 0x0D, 0xB8], 32)
  }

  static func isWithin(_ address: [UInt8], _ start: [UInt8], _ bits: Int) -> Bool {
    (0..<bits).allSatisfy { bit in
      let mask = UInt8(0x80) >> UInt8(bit % 8)
      return address[bit / 8] & mask == start[bit / 8] & mask
    }
  }
}
