import IAMPASSProtocol
import Synchronization

/// The public addresses that requests named recently. Nearly all name the same one, and parsing it takes longer than
/// finding it here.
final class KnownAddresses: Sendable {
  /// The most addresses: strangers may name any number of hosts.
  static let greatestCount = 16

  /// The configured address; nil: each request's own authority counts.
  private let configured: ServerURL?
  private let known = Mutex<[String: PublicAddress]>([:])

  init(configured: ServerURL?) { self.configured = configured }

  /// The address that ``PublicAddress/init(configured:authority:)`` makes.
  func address(authority: String?) -> PublicAddress? {
    // With a configured address, all have the same.
    let key = configured == nil ? authority ?? "" : ""
    if let address = known.withLock({ $0[key] }) { return address }
    guard let address = PublicAddress(configured: configured, authority: authority) else { return nil }
    known.withLock { known in
      if known.count >= Self.greatestCount { known.removeAll(keepingCapacity: true) }
      known[key] = address
    }
    return address
  }
}
