import Glibc
import HostSystem

/// An address and a port, as the kernel's table of sockets spells them.
struct ListenPlace: Sendable, Equatable {
  let isIPv6: Bool
  /// The address in hexadecimal digits, in words of the computer's byte order (proc_net_tcp in the kernel's
  /// documentation).
  let host: String
  let port: UInt16

  init(isIPv6: Bool, host: String, port: UInt16) {
    self.isIPv6 = isIPv6
    self.host = host
    self.port = port
  }

  /// Reads the bytes of an IPv4 or IPv6 address.
  init(_ place: addrinfo) {
    isIPv6 = place.ai_family == AF_INET6
    // SAFETY: getaddrinfo(3) gives an address of the family that it names, `ai_addrlen` bytes long.
    let bytes = Array(UnsafeRawBufferPointer(start: UnsafeRawPointer(place.ai_addr), count: Int(place.ai_addrlen)))
    let (portAt, hostAt) = (2, isIPv6 ? 8 : 4)
    port = UInt16(bytes[portAt]) << 8 | UInt16(bytes[portAt + 1])
    let words = stride(from: hostAt, to: hostAt + (isIPv6 ? 16 : 4), by: 4).map { start in
      Array(bytes[start..<start + 4]).withUnsafeBytes { $0.load(as: UInt32.self) }
    }
    host = words.map { word in
      let digits = String(word, radix: 16, uppercase: true)
      return String(repeating: "0", count: 8 - digits.count) + digits
    }.joined()
  }

  /// Whether it stands for all of this computer's addresses.
  var isEverywhere: Bool { host.allSatisfy { $0 == "0" } }

  /// Whether two sockets cannot listen on both. If a third socket already shares the port with the other, an IPv6
  /// socket for all addresses does not include IPv4.
  func excludes(_ other: ListenPlace) -> Bool {
    guard port == other.port else { return false }
    if isIPv6 != other.isIPv6 { return isIPv6 && isEverywhere }
    return host == other.host || isEverywhere || other.isEverywhere
  }
}

/// The users that listen on this computer's TCP ports.
struct PortHolders: Sendable {
  /// The kernel's number for a socket that listens.
  private static let listening = "0A"

  /// The most bytes that are read. Listening sockets come first (tcp_seq_start in the kernel).
  private static let greatestTable = 1_048_576

  private let holders: [(place: ListenPlace, user: uid_t)]

  /// The present listeners.
  static var ofThisComputer: PortHolders {
    let texts = ["/proc/net/tcp", "/proc/net/tcp6"].map { path in
      String(decoding: ProcessFile.read(path, limit: greatestTable) ?? [], as: UTF8.self)
    }
    return PortHolders(tcp: texts[0], tcp6: texts[1])
  }

  /// - Parameters: the texts of `/proc/net/tcp` and `/proc/net/tcp6`.
  init(tcp: String, tcp6: String) {
    holders = Self.holders(in: tcp, isIPv6: false) + Self.holders(in: tcp6, isIPv6: true)
  }

  /// Whether only this user listens on the port in a way that excludes `place`.
  func areOnly(_ user: uid_t, at place: ListenPlace) -> Bool {
    guard holders.contains(where: { $0.user == user && $0.place.port == place.port }) else { return false }
    return !holders.contains { $0.user != user && place.excludes($0.place) }
  }

  private static func holders(in table: String, isIPv6: Bool) -> [(place: ListenPlace, user: uid_t)] {
    table.split(separator: "\n").compactMap { line in
      // sl, local_address, rem_address, st, tx_queue:rx_queue, tr:tm->when, retrnsmt, uid
      let fields = line.split(separator: " ")
      guard fields.count > 7, fields[3] == listening, let user = uid_t(fields[7]) else { return nil }
      let parts = fields[1].split(separator: ":")
      guard parts.count == 2, let port = UInt16(parts[1], radix: 16) else { return nil }
      return (ListenPlace(isIPv6: isIPv6, host: String(parts[0]), port: port), user)
    }
  }
}
