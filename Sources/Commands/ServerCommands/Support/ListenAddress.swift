import CommandSupport
import IAMPASSServer

/// `ADDRESS:PORT`, with an IPv6 address in brackets.
struct ListenAddress: Sendable {
  /// The text of the option.
  let text: String
  let host: String
  /// The port; 0 takes a free one.
  let port: Int

  init(_ text: String) throws(CommandProblem) {
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
      throw .badListen(text)
    }
    var host = text[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") {
      host = host.dropFirst().dropLast()
    } else if host.contains(":") {
      throw .badListen(text)
    }
    guard !host.isEmpty else { throw .badListen(text) }
    self.text = text
    self.host = String(host)
    self.port = Int(port)
  }

  /// Whether only this computer can connect.
  var isLoopback: Bool { host == "localhost" || PeerAddress(host)?.isLoopback == true }

  /// The host as a URL spells it.
  var urlHost: String { host.contains(":") ? "[\(host)]" : host }

  /// The address that a browser of this computer uses.
  ///
  /// - Parameter port: the bound one.
  func usualURL(port: Int) -> String {
    let everywhere = ["0.0.0.0", "::"]
    return "https://\(everywhere.contains(host) ? "localhost" : urlHost):\(port)"
  }
}
