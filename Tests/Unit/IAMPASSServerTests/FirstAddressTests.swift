import Glibc
import NIOCore
import NIOPosix
import Testing

@testable import IAMPASSServer

@Suite struct FirstAddressTests {
  /// The address that is connected to. Only the last one serves.
  private func connect(by dead: [String]) async throws -> SocketAddress? {
    let service = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .serverChannelOption(.backlog, value: 8)
      .bind(host: "127.0.0.1", port: 0).get()
    defer { service.close(promise: nil) }
    let port = try #require(service.localAddress?.port)
    let addresses = try (dead + ["127.0.0.1"]).map { try SocketAddress(ipAddress: $0, port: port) }
    let made = try await FirstAddress.connect(addresses, of: "push.test") { channel in
      channel.eventLoop.makeSucceededFuture(channel)
    }
    defer { made.close(promise: nil) }
    return made.remoteAddress
  }

  /// Only the first three were tried before.
  @Test(.timeLimit(.wholeRun)) func fourAddressesThatRefuseHideNoGoodOne() async throws {
    let found = try await connect(by: ["127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5"])
    #expect(found?.ipAddress == "127.0.0.1")
  }

  @Test(.timeLimit(.wholeRun)) func noAddressesAreANameThatIsNotFound() async throws {
    await #expect(throws: PushProblem.self) {
      try await FirstAddress.connect([], of: "push.test") { $0.eventLoop.makeSucceededVoidFuture() }
    }
  }

  /// The reason of an address says more than a list of all.
  @Test(.timeLimit(.wholeRun)) func aFailureIsThatOfAnAddress() async throws {
    let closed = try SocketAddress(ipAddress: "127.0.0.2", port: 1)
    await #expect(throws: IOError.self) {
      try await FirstAddress.connect([closed], of: "push.test") { $0.eventLoop.makeSucceededVoidFuture() }
    }
  }

  /// Those that lose end by themselves, whatever was made of their channels.
  @Test(.timeLimit(.wholeRun)) func addressesThatRefuseAndThatAreSilentHideNoGoodOne() async throws {
    let service = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .bind(host: "127.0.0.1", port: 0).get()
    defer { service.close(promise: nil) }
    let port = try #require(service.localAddress?.port)
    let silent = try await Silent("127.0.0.6", port)
    defer { silent.end() }
    let names = ["127.0.0.6", "127.0.0.2", "127.0.0.3", "127.0.0.1"]
    let made = try await FirstAddress.connect(
      try names.map { try SocketAddress(ipAddress: $0, port: port) }, of: "push.test"
    ) { channel in
      channel.eventLoop.makeCompletedFuture {
        try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
      }
    }
    #expect(made.channel.remoteAddress?.ipAddress == "127.0.0.1")
    try await made.executeThenClose { _, _ in }
  }

  @Test(.timeLimit(.wholeRun)) func anExchangeOfWhichNoAddressAnswersEndsWithItsReason() async throws {
    let closed = try ["127.0.0.2", "127.0.0.3"].map { try SocketAddress(ipAddress: $0, port: 1) }
    await #expect(throws: IOError.self) {
      _ = try await FirstAddress.connect(closed, of: "push.test") { channel in
        channel.eventLoop.makeCompletedFuture {
          try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
        }
      }
    }
  }
}

/// A listener whose queue is full: the kernel drops what comes, as a network may.
private struct Silent {
  private let sockets: [Int32]

  init(_ address: String, _ port: Int) async throws {
    let place = try SocketAddress(ipAddress: address, port: port)
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var sockets = [listener]
    let isFull = place.withSockAddr { pointer, length in
      guard bind(listener, pointer, socklen_t(length)) == 0, listen(listener, 0) == 0 else { return false }
      for _ in 1...4 {
        let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
        sockets.append(client)
        _ = connect(client, pointer, socklen_t(length))
      }
      return true
    }
    self.sockets = sockets
    #expect(isFull)
  }

  func end() { for socket in sockets { close(socket) } }
}
