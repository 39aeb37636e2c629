import IAMPASSProtocol
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// Decides which push services may be contacted.
public struct PushTrust: Sendable {
  /// The authority of a private push service. Only this authority is then trusted, at any address and port. Nil: the
  /// system's authorities, at port 443 of public addresses outside of this computer's own networks.
  let authority: [NIOSSLCertificate]?
  /// Stands for Apple's and Google's services, with a certificate of ``authority``; nil: messages go to the real
  /// services.
  let standIn: ServerURL?
  /// Nil: push services are reached directly.
  let proxy: PushProxy?

  /// For the browsers' own push services.
  public init(proxy: PushProxy? = nil) {
    authority = nil
    standIn = nil
    self.proxy = proxy
  }

  public init(authority file: String?, standIn: ServerURL? = nil, proxy: PushProxy? = nil) throws(ServerError) {
    self.standIn = standIn
    self.proxy = proxy
    do {
      authority = try file.map { try NIOSSLCertificate.fromPEMFile($0) }
    } catch {
      throw ServerError(code: .certificateUnreadable, subject: file ?? "", detail: "\(error)")
    }
  }

  var isOwnService: Bool { authority != nil }

  /// Whether a subscription's port may be contacted. Browsers' push services use https's own port. A phone must not
  /// make this service try other ports.
  func allows(_ subscription: PushSubscription) -> Bool {
    isOwnService || subscription.port == PushSubscription.standardPort
  }

  /// Whether a name with these addresses may be contacted.
  func allows(_ addresses: [SocketAddress], own: () throws -> OwnNetworks) rethrows -> Bool {
    if isOwnService { return true }
    let networks = try own()
    return addresses.allSatisfy { $0.isPublic && !networks.contains($0) }
  }
}

/// Sends a message to a push service.
protocol PushPosting: Sendable {
  func post(to subscription: PushSubscription, headers: HTTPHeaders, body: [UInt8]) async throws -> PushReply
}

/// One request to a push service: HTTP/1.1 over TLS, without redirects.
struct PushClient: PushPosting {
  /// In seconds, for a whole exchange.
  private static let wholeTime: Int64 = 10

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

  func post(to subscription: PushSubscription, headers: HTTPHeaders, body: [UInt8]) async throws -> PushReply {
    let channel = try await connect(to: subscription)
    let end = channel.channel.eventLoop.scheduleTask(in: .seconds(Self.wholeTime)) {
      channel.channel.close(promise: nil)
    }
    defer { end.cancel() }
    return try await channel.executeThenClose { inbound, outbound in
      let head = HTTPRequestHead(version: .http1_1, method: .POST, uri: subscription.target, headers: headers)
      var unwritten: (any Error)?
      do {
        try await outbound.write(contentsOf: [
          .head(head), .body(.byteBuffer(ByteBuffer(bytes: body))), .end(nil),
        ])
      } catch {
        // The peer that ended the connection may have sent the reason: a proxy its status, TLS its error. It is read
        // below.
        unwritten = error
      }
      var reply: PushReply?
      var text: [UInt8] = []
      do {
        reading: for try await part in inbound {
          switch part {
          case .head(let head): reply = PushReply(head, at: .now())
          case .body(let bytes): text += bytes.readableBytesView.prefix(PushReply.greatestText - text.count)
          case .end: break reading
          }
          if let reply, (200..<300).contains(reply.status) || text.count == PushReply.greatestText {
            break reading
          }
        }
      } catch {
        // The status counts, even if the text after it does not come.
        guard reply != nil else { throw error }
      }
      guard var reply else { throw unwritten ?? PushProblem.noReply }
      reply.reason = PushReply.reason(in: text)
      return reply
    }
  }

  private typealias Exchange = NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>

  /// Connects to one of the checked addresses. A second lookup of the name could give another answer.
  private func connect(to subscription: PushSubscription) async throws -> Exchange {
    // This port is checked again: an earlier version may have stored the subscription with any port.
    guard trust.allows(subscription) else { throw PushProblem.unusualPort }
    let addresses = try await addresses(for: subscription)
    return try await FirstAddress.connect(addresses, of: trust.proxy?.host ?? subscription.host) { channel in
      channel.eventLoop.makeCompletedFuture {
        let pipeline = channel.pipeline.syncOperations
        if trust.proxy != nil {
          try pipeline.addHandler(ProxyTunnel(to: subscription.host, port: subscription.port))
        }
        try pipeline.addHandler(NIOSSLClientHandler(context: tls, serverHostname: subscription.host))
        try pipeline.addHTTPClientHandlers()
        return try Exchange(wrappingChannelSynchronously: channel)
      }
    }
  }

  /// The addresses of the push service, or of the proxy.
  private func addresses(for subscription: PushSubscription) async throws -> [SocketAddress] {
    guard let proxy = trust.proxy else {
      let addresses = try await names.addresses(of: subscription.host, port: subscription.port)
      guard try trust.allows(addresses, own: OwnNetworks.current) else { throw PushProblem.privateAddress }
      return addresses
    }
    // Behind a proxy this computer may not find names of the internet.
    let found = try? await names.addresses(of: subscription.host, port: subscription.port)
    guard try trust.allows(byProxy: subscription.host, found: found, own: OwnNetworks.current) else {
      throw PushProblem.privateAddress
    }
    return try await names.addresses(of: proxy.host, port: proxy.port)
  }
}
