import Glibc
import NIOCore
import NIOPosix

/// Looks up the names of push services on its own threads.
///
/// Phones choose these names, and a silent name server holds a thread for many seconds. Such lookups would soon use up
/// the threads that all other blocking work shares.
final class NameLookup: Sendable {
  /// The greatest number of lookups at once. Further lookups wait. A sleeping thread costs little.
  static let threads = 8

  private let pool = NIOThreadPool(numberOfThreads: threads)
  private let ask: @Sendable (String, Int) throws -> [SocketAddress]

  convenience init() { self.init(asking: Self.ask) }

  /// - Parameter ask: looks up a name, and may block.
  init(asking ask: @escaping @Sendable (String, Int) throws -> [SocketAddress]) {
    self.ask = ask
    pool.start()
  }

  deinit { pool.shutdownGracefully { _ in } }

  func addresses(of host: String, port: Int) async throws -> [SocketAddress] {
    try await pool.runIfActive { [ask] in try ask(host, port) }
  }

  /// The system's lookup. Blocks.
  @Sendable private static func ask(_ host: String, _ port: Int) throws -> [SocketAddress] {
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    hints.ai_flags = AI_ADDRCONFIG
    var found: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(host, String(port), &hints, &found) == 0 else { throw PushProblem.nameNotFound(host) }
    defer { freeaddrinfo(found) }
    var addresses: [SocketAddress] = []
    var next = found
    while let entry = next {
      // SAFETY: getaddrinfo's list lives until it is freed, and each family has its own form of address.
      if let address = entry.pointee.ai_addr {
        switch entry.pointee.ai_family {
        case AF_INET:
          addresses.append(
            address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { SocketAddress($0.pointee, host: host) })
        case AF_INET6:
          addresses.append(
            address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { SocketAddress($0.pointee, host: host) })
        default: break
        }
      }
      next = entry.pointee.ai_next
    }
    return addresses
  }
}
