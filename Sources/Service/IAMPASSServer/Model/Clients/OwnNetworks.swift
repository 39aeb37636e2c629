import Glibc
import NIOCore

/// The networks of this computer's interfaces. A phone must not make the service connect to them. Neighbours often trust
/// this computer, even at public addresses.
struct OwnNetworks: Sendable {
  /// An interface's address, and the number of bits of its network.
  struct Network: Sendable, Equatable {
    let address: [UInt8]
    let bits: Int

    /// - Parameter mask: as long as the address. A mask without bits would contain every address, so only the address
    ///   itself then counts as this computer's own.
    init(address: [UInt8], mask: [UInt8]) {
      self.address = address
      let bits = mask.reduce(0) { $0 + $1.nonzeroBitCount }
      self.bits = bits == 0 || mask.count != address.count ? address.count * 8 : bits
    }
  }

  let networks: [Network]

  /// The interfaces' present networks.
  ///
  /// - Throws: if the system does not list them.
  static func current() throws -> OwnNetworks {
    var first: UnsafeMutablePointer<ifaddrs>?
    guard getifaddrs(&first) == 0 else { throw PushProblem.privateAddress }
    defer { freeifaddrs(first) }
    var networks: [Network] = []
    var next = first
    while let entry = next {
      if let address = bytes(entry.pointee.ifa_addr) {
        networks.append(Network(address: address, mask: bytes(entry.pointee.ifa_netmask) ?? []))
      }
      next = entry.pointee.ifa_next
    }
    return OwnNetworks(networks: networks)
  }

  func contains(_ address: SocketAddress) -> Bool {
    let bytes: [UInt8]
    switch address {
    case .v4(let four): bytes = withUnsafeBytes(of: four.address.sin_addr) { Array($0) }
    case .v6(let six): bytes = withUnsafeBytes(of: six.address.sin6_addr) { Array($0) }
    case .unixDomainSocket: return true
    }
    let all = [bytes, PublicNetwork.translated(bytes)].compactMap(\.self)
    return networks.contains { network in
      all.contains { network.address.count == $0.count && PublicNetwork.isWithin($0, network.address, network.bits) }
    }
  }

  /// The address's bytes; nil if it is not an IPv4 or IPv6 address.
  private static func bytes(_ address: UnsafeMutablePointer<sockaddr>?) -> [UInt8]? {
    // SAFETY: getifaddrs's list lives until it is freed, and each family has its own form of address.
    guard let address else { return nil }
    return switch Int32(address.pointee.sa_family) {
    case AF_INET:
      address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { four in
        withUnsafeBytes(of: four.pointee.sin_addr) { Array($0) }
      }
    case AF_INET6:
      address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { six in
        withUnsafeBytes(of: six.pointee.sin6_addr) { Array($0) }
      }
    default: nil
    }
  }
}
