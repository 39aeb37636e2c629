import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// Why a message was not handed to a push service.
enum PushProblem: Error, Equatable {
  case nameNotFound(String)
  /// A phone must not make this service speak to what only this service can reach.
  case privateAddress
  case unusualPort
  case noReply
}

/// Which push services are spoken to.
public struct PushTrust: Sendable {
  /// The authority of a push service of one's own: this alone is trusted then, at any address and port. Nil: what
  /// the system trusts, at port 443 of public addresses outside of this machine's own networks.
  let authority: [NIOSSLCertificate]?

  /// The browsers' own push services.
  public init() { authority = nil }

  public init(authority file: String?) throws(ServerError) {
    do {
      authority = try file.map { try NIOSSLCertificate.fromPEMFile($0) }
    } catch {
      throw ServerError(code: .certificateUnreadable, subject: file ?? "", detail: "\(error)")
    }
  }

  var isOwnService: Bool { authority != nil }

  /// Whether a subscription's port may be spoken to: browsers' push services are at https's own, and a phone must not
  /// choose what else this service knocks at.
  func allows(_ subscription: PushSubscription) -> Bool {
    isOwnService || subscription.port == PushSubscription.standardPort
  }

  /// Whether a name with these addresses may be spoken to.
  func allows(_ addresses: [SocketAddress], own: () throws -> OwnNetworks) rethrows -> Bool {
    if isOwnService { return true }
    let networks = try own()
    return addresses.allSatisfy { $0.isPublic && !networks.contains($0) }
  }
}

/// One request to a push service: HTTP/1.1 over TLS, no redirects.
struct PushClient: Sendable {
  /// Seconds for connecting, for each address.
  private static let connectTime: Int64 = 5
  /// Seconds for all of an exchange.
  private static let wholeTime: Int64 = 10
  private static let mostAddresses = 3

  private let tls: NIOSSLContext
  private let trust: PushTrust
  private let names = NameLookup()

  init(trust: PushTrust) throws {
    var configuration = TLSConfiguration.makeClientConfiguration()
    configuration.minimumTLSVersion = .tlsv12
    if let authority = trust.authority { configuration.trustRoots = .certificates(authority) }
    tls = try NIOSSLContext(configuration: configuration)
    self.trust = trust
  }

  /// The reply's status.
  func post(to subscription: PushSubscription, headers: HTTPHeaders, body: [UInt8]) async throws -> Int {
    let channel = try await connect(to: subscription)
    let end = channel.channel.eventLoop.scheduleTask(in: .seconds(Self.wholeTime)) {
      channel.channel.close(promise: nil)
    }
    defer { end.cancel() }
    return try await channel.executeThenClose { inbound, outbound in
      let head = HTTPRequestHead(version: .http1_1, method: .POST, uri: subscription.target, headers: headers)
      try await outbound.write(contentsOf: [
        .head(head), .body(.byteBuffer(ByteBuffer(bytes: body))), .end(nil),
      ])
      for try await part in inbound {
        if case .head(let head) = part { return Int(head.status.code) }
      }
      throw PushProblem.noReply
    }
  }

  private typealias Exchange = NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>

  /// To one of the addresses that were looked at: the name is not looked up again, so that it cannot answer otherwise.
  private func connect(to subscription: PushSubscription) async throws -> Exchange {
    // Looked at again: it may have been stored by a version that took any port.
    guard trust.allows(subscription) else { throw PushProblem.unusualPort }
    let addresses = try await names.addresses(of: subscription.host, port: subscription.port)
    guard try trust.allows(addresses, own: OwnNetworks.current) else { throw PushProblem.privateAddress }
    var problem: any Error = PushProblem.nameNotFound(subscription.host)
    for address in addresses.prefix(Self.mostAddresses) {
      do { return try await connect(to: address, named: subscription.host) } catch { problem = error }
    }
    throw problem
  }

  private func connect(to address: SocketAddress, named host: String) async throws -> Exchange {
    try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .connectTimeout(.seconds(Self.connectTime))
      .connect(to: address) { channel in
        channel.eventLoop.makeCompletedFuture {
          let pipeline = channel.pipeline.syncOperations
          try pipeline.addHandler(NIOSSLClientHandler(context: tls, serverHostname: host))
          try pipeline.addHTTPClientHandlers()
          return try Exchange(wrappingChannelSynchronously: channel)
        }
      }
  }
}
