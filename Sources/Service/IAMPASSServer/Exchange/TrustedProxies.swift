/// The proxies that are trusted to give a request's address. Clients could forge it, so others are not trusted.
public struct TrustedProxies: Sendable {
  private let addresses: Set<PeerAddress>

  public init(_ addresses: [PeerAddress] = []) { self.addresses = Set(addresses) }

  /// Whether this peer is one of them.
  func believes(_ peer: String?) -> Bool {
    guard !addresses.isEmpty, let address = peer.flatMap({ PeerAddress($0) }) else { return false }
    return addresses.contains(address)
  }

  /// The peer, or the last address that a trusted peer names: a proxy adds its own client at the end of the header.
  func client(of request: ServiceRequest) -> ClientAddress {
    guard let address = request.peer, let whole = PeerAddress(address), let peer = ClientAddress(address) else {
      return .unknown
    }
    guard addresses.contains(whole) else { return peer }
    // This splits bytes: text that the client sent must not hide the comma.
    let named = request.values(of: ["X-Forwarded-For"]).last?.utf8.split(separator: UInt8(ascii: ",")).last
    return named.flatMap { ClientAddress(String(Substring($0).trimming(" \t"))) } ?? peer
  }
}
