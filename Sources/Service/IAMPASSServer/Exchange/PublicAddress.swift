import IAMPASSProtocol

/// The service's address as clients see it, for one request. Clients sign it, and links use it.
struct PublicAddress: Sendable {
  /// The standard port of https, which some clients sign and others leave out.
  private static let standardPort = ":443"

  let url: ServerURL
  /// How clients may spell scheme, host and port: as sent, in the usual form, and with the standard port.
  private let origins: [String]

  /// Nil unless the request names a valid host.
  ///
  /// - Parameters:
  ///   - configured: the address of `--public-url`. Without it the request's own authority counts, because a signature
  ///     covers it.
  init?(configured: ServerURL?, authority: String?) {
    if let configured {
      url = configured
      origins = PublicAddress.spellings(of: configured.origin)
      return
    }
    guard let authority, !authority.contains(where: { "/?#@".contains($0) }),
      let url = try? ServerURL("https://" + authority)
    else { return nil }
    self.url = url
    let sent = "https://" + authority
    origins = [sent] + PublicAddress.spellings(of: url.origin).filter { $0 != sent }
  }

  /// The route in `target`: the part below the public path, which a proxy may already have removed.
  func routed(_ target: String) -> Substring {
    isBelowBase(target) ? target.dropFirst(url.basePath.count) : target[...]
  }

  /// The URIs that the client may have signed: spellings of the same address.
  func signedURIs(_ target: String) -> [String] {
    let base = isBelowBase(target) ? "" : url.basePath
    return origins.map { $0 + base + target }
  }

  private func isBelowBase(_ target: String) -> Bool { target.hasPrefix(url.basePath + "/") }

  private static func spellings(of origin: String) -> [String] {
    let host = origin.drop { $0 != "/" }.dropFirst(2)
    let hasPort = host.drop { $0 != "]" }.isEmpty ? host.contains(":") : !host.hasSuffix("]")
    return hasPort || !origin.hasPrefix("https:") ? [origin] : [origin, origin + standardPort]
  }
}
