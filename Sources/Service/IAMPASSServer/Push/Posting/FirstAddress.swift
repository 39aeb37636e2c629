import NIOCore
import NIOPosix

/// Connects to the address of a name that answers first. If an address does not answer soon, the next one is tried in
/// parallel, and the families take turns (RFC 8305, by NIO). TLS begins on the connection that was made.
enum FirstAddress {
  /// The longest time for all addresses together, in seconds. The last one starts after less than three.
  private static let connectTime: Int64 = 8
  /// The greatest number of addresses of one family. Phones choose names, and a name may have any number of addresses.
  static let most = 5

  /// - Parameter addresses: the permitted addresses, in the order of the look-up. The name is not looked up again,
  ///   because that could give others.
  static func connect<Output: Sendable>(
    _ addresses: [SocketAddress], of host: String,
    initializer: @escaping @Sendable (any Channel) -> EventLoopFuture<Output>
  ) async throws -> Output {
    guard let port = addresses.first?.port else { throw PushProblem.nameNotFound(host) }
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    do {
      return try await ClientBootstrap(group: loop)
        .resolver(CheckedAddresses(addresses, on: loop))
        .connectTimeout(.seconds(connectTime))
        .connect(host: host, port: port) { channel in initializer(channel).map { kept($0, by: channel) } }
    } catch let error as NIOConnectionError {
      throw error.connectionErrors.last?.error ?? error
    }
  }

  /// A losing address is released before its channel closes, but an asynchronous channel must not end before that
  /// (`NIOAsyncWriter`).
  private static func kept<Output: Sendable>(_ output: Output, by channel: any Channel) -> Output {
    channel.closeFuture.whenComplete { _ in withExtendedLifetime(output) {} }
    return output
  }
}

/// Answers NIO's questions with addresses that are known.
private final class CheckedAddresses: Resolver, Sendable {
  private let addresses: [SocketAddress]
  private let loop: any EventLoop

  init(_ addresses: [SocketAddress], on loop: any EventLoop) {
    self.addresses = addresses
    self.loop = loop
  }

  func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> { known(.inet) }
  func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> { known(.inet6) }
  func cancelQueries() {}

  private func known(_ family: NIOBSDSocket.ProtocolFamily) -> EventLoopFuture<[SocketAddress]> {
    loop.makeSucceededFuture(Array(addresses.filter { $0.protocol == family }.prefix(FirstAddress.most)))
  }
}
