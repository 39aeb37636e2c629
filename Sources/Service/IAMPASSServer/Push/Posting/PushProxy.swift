import IAMPASSProtocol
import NIOCore

/// A proxy to reach push services from a closed network. It uses `CONNECT` (RFC 9110 §9.3.6), so that TLS still ends at
/// the push service.
public struct PushProxy: Sendable, Equatable {
  /// The proxy's name, or its address without brackets.
  let host: String
  let port: Int
  /// The proxy as it was given. It has only letters, digits and `-._:[]/`.
  public let text: String

  /// Nil unless it is `http://` with a name or an address, and perhaps a port. A user's name and password are not
  /// accepted, because all users of this computer can read a command line.
  public init?(_ text: String) {
    guard text.hasPrefix(Self.scheme) else { return nil }
    // Our other addresses always use https.
    let rest = text.dropFirst(Self.scheme.count)
    guard let url = try? ServerURL("https://" + rest), url.basePath.isEmpty else { return nil }
    self.text = text
    let authority = rest.prefix { $0 != "/" }
    let isBracketed = authority.hasPrefix("[")
    host = String(isBracketed ? authority.dropFirst().prefix { $0 != "]" } : authority.prefix { $0 != ":" })
    port = authority.hasSuffix(":\(url.port)") ? url.port : Self.usualPort
  }

  private static let scheme = "http://"
  private static let usualPort = 80
}

/// Asks a proxy for a tunnel as soon as it is connected. The handlers after this one, TLS first, see a connection only
/// once the tunnel is open.
final class ProxyTunnel: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundOut = ByteBuffer

  /// The greatest size of a proxy's answer before the tunnel, in bytes.
  private static let greatestHead = 8 * 1_024
  private static let headEnd = Array("\r\n\r\n".utf8)

  private enum State {
    case asking(ByteBuffer)
    case open
    case failed
  }

  private let target: String
  private var state = State.asking(ByteBuffer())

  init(to host: String, port: Int) { target = "\(host):\(port)" }

  func channelActive(context: ChannelHandlerContext) {
    let text = "CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n\r\n"
    context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch state {
    case .open: context.fireChannelRead(data)
    case .failed: break
    case .asking(var answer):
      answer.writeImmutableBuffer(unwrapInboundIn(data))
      guard let length = Self.headLength(answer.readableBytesView) else {
        state = .asking(answer)
        if answer.readableBytes > Self.greatestHead { fail(.proxyRefused(status: nil), context) }
        return
      }
      let head = String(decoding: answer.readSlice(length: length)?.readableBytesView ?? .init(), as: UTF8.self)
      let status = Self.status(head)
      guard let status, (200..<300).contains(status) else { return fail(.proxyRefused(status: status), context) }
      state = .open
      context.fireChannelActive()
      if answer.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(answer)) }
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    if case .asking = state { fail(.proxyRefused(status: nil), context) }
    context.fireChannelInactive()
  }

  private func fail(_ problem: PushProblem, _ context: ChannelHandlerContext) {
    state = .failed
    context.fireErrorCaught(problem)
    context.close(promise: nil)
  }

  /// The number of bytes to the end of the empty line; nil before that line has come.
  private static func headLength(_ bytes: ByteBufferView) -> Int? {
    let all = Array(bytes)
    guard all.count >= headEnd.count else { return nil }
    return (headEnd.count...all.count).first { all[($0 - headEnd.count)..<$0].elementsEqual(headEnd) }
  }

  /// The status in a line such as `HTTP/1.1 200 Connection established`.
  private static func status(_ head: String) -> Int? {
    let words = head.prefix { $0 != "\r\n" }.split(separator: " ", maxSplits: 2)
    guard words.count >= 2, words[0].hasPrefix("HTTP/1."), words[1].count == 3 else { return nil }
    return Int(words[1])
  }
}

extension PushTrust {
  /// Whether a proxy may be asked for a service of this name. The proxy looks up the name itself, so this computer
  /// cannot check the address. It refuses a private name, and a name that it finds in a private network.
  func allows(byProxy host: String, found: [SocketAddress]?, own: () throws -> OwnNetworks) rethrows -> Bool {
    guard !isOwnService else { return true }
    guard PushContact.isPublic(host: host) else { return false }
    return try found.map { try allows($0, own: own) } ?? true
  }
}
