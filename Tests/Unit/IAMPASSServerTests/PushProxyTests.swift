import NIOCore
import NIOEmbedded
import Testing

@testable import IAMPASSServer

@Suite struct PushProxyTests {
  @Test(arguments: [
    ("http://proxy.example.org:3128", "proxy.example.org", 3_128), ("http://proxy.lan/", "proxy.lan", 80),
    ("http://proxy.lan:443", "proxy.lan", 443), ("http://192.0.2.1:8080", "192.0.2.1", 8_080),
    ("http://[2001:db8::1]:8080", "2001:db8::1", 8_080),
  ])
  func aProxyIsANameOrAnAddressWithAPort(_ text: String, _ host: String, _ port: Int) throws {
    let proxy = try #require(PushProxy(text))
    #expect(proxy.host == host && proxy.port == port && proxy.text == text)
  }

  @Test(arguments: [
    "https://proxy.example.org", "proxy.example.org:3128", "http://", "http://user:secret@proxy.example.org",
    "http://proxy.example.org/path", "http://proxy.example.org:0", "http://proxy.example.org:99999",
    "http://proxy example.org", "http://proxy.example.org\r\nX: y", "socks5://proxy.example.org", "http://:3128", "",
  ])
  func anythingElseIsNoProxy(_ text: String) { #expect(PushProxy(text) == nil) }

  /// Keeps what comes out of the tunnel.
  private final class Behind: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private(set) var isActive = false
    private(set) var text = ""
    private(set) var errors: [PushProblem?] = []

    func channelActive(context: ChannelHandlerContext) { isActive = true }
    func channelRead(context: ChannelHandlerContext, data: NIOAny) { text += String(buffer: unwrapInboundIn(data)) }
    func errorCaught(context: ChannelHandlerContext, error: any Error) { errors.append(error as? PushProblem) }
  }

  private func tunnel() throws -> (EmbeddedChannel, Behind) {
    let behind = Behind()
    let channel = EmbeddedChannel()
    try channel.pipeline.syncOperations.addHandlers([ProxyTunnel(to: "push.test", port: 443), behind])
    channel.connect(to: try SocketAddress(ipAddress: "192.0.2.1", port: 3_128), promise: nil)
    let asked = try channel.readOutbound(as: ByteBuffer.self).map { String(buffer: $0) }
    #expect(asked == "CONNECT push.test:443 HTTP/1.1\r\nHost: push.test:443\r\n\r\n")
    #expect(!behind.isActive)
    return (channel, behind)
  }

  @Test func whatStandsBehindSeesTheConnectionOnceTheTunnelIsOpen() throws {
    let (channel, behind) = try tunnel()
    for part in ["HTTP/1.1 200 Connection", " established\r\nVia: x\r\n\r", "\nfirst"] {
      #expect(!behind.isActive)
      try channel.writeInbound(ByteBuffer(string: part))
    }
    try channel.writeInbound(ByteBuffer(string: " second"))
    #expect(behind.isActive && behind.text == "first second" && behind.errors.isEmpty)
  }

  @Test(arguments: [
    ("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", 407), ("HTTP/1.0 403 Forbidden\r\n\r\n", 403),
    ("SSH-2.0-OpenSSH_9.2\r\n\r\n", nil), ("HTTP/1.1 2000 x\r\n\r\n", nil), ("\r\n\r\n", nil),
    (String(repeating: "a", count: 9_000), nil),
  ])
  func aProxyThatOpensNoTunnelEndsIt(_ answer: String, _ status: Int?) throws {
    let (channel, behind) = try tunnel()
    try channel.writeInbound(ByteBuffer(string: answer))
    #expect(!channel.isActive && !behind.isActive && behind.text.isEmpty)
    #expect(behind.errors == [.proxyRefused(status: status)])
  }

  @Test func aProxyThatClosesOpensNoTunnel() throws {
    let (channel, behind) = try tunnel()
    channel.pipeline.fireChannelInactive()
    #expect(behind.errors == [.proxyRefused(status: nil)])
  }

  /// A phone names the address. The proxy must not lead it into networks that this service is in.
  @Test func privateNamesAndThoseFoundInPrivateNetworksAreRefused() throws {
    let trust = PushTrust(proxy: PushProxy("http://192.0.2.1:3128"))
    func allows(_ host: String, _ addresses: [String]?) throws -> Bool {
      let found = try addresses?.map { try SocketAddress(ipAddress: $0, port: 443) }
      return try trust.allows(byProxy: host, found: found, own: { try OwnNetworks.current() })
    }
    #expect(try allows("push.example.com", nil))
    #expect(try allows("push.example.com", ["17.0.0.1"]))
    #expect(try !allows("push.example.com", ["17.0.0.1", "10.0.0.1"]))
    for name in ["wiki", "wiki.lan", "wiki.internal", "localhost"] { #expect(try !allows(name, nil)) }
  }
}
