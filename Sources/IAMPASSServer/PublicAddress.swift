import IAMPASSProtocol

/// Where clients see the service, for one request: what they signed, and where links lead.
struct PublicAddress: Sendable {
  let url: ServerURL

  /// Nil where the request names no host that could be one.
  ///
  /// - Parameters:
  ///   - configured: of `--public-url`. Without it the request's own authority counts: a signature covers it.
  init?(configured: ServerURL?, authority: String?) {
    if let configured {
      url = configured
      return
    }
    guard let authority, !authority.contains(where: { "/?#@".contains($0) }),
      let url = try? ServerURL("https://" + authority)
    else { return nil }
    self.url = url
  }

  /// What of `target` is a route: below the public path, which a proxy may have taken away already.
  func routed(_ target: String) -> Substring {
    isBelowBase(target) ? target.dropFirst(url.basePath.count) : target[...]
  }

  /// The URI that the client signed.
  func signedURI(_ target: String) -> String {
    (isBelowBase(target) ? url.origin : url.description) + target
  }

  private func isBelowBase(_ target: String) -> Bool { target.hasPrefix(url.basePath + "/") }
}
