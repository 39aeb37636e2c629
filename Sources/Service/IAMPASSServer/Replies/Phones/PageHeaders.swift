import IAMPASSProtocol

/// The headers of every file of a page.
enum PageHeaders {
  /// All content comes from this service's origin, and scripts are not inline, so a stranger's text cannot become
  /// script.
  private static let contentSecurityPolicy = """
    default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; manifest-src 'self'; \
    worker-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'
    """

  static func of(_ address: PublicAddress) -> [(name: String, value: String)] {
    var headers = [
      ("Content-Security-Policy", contentSecurityPolicy),
      ("X-Content-Type-Options", "nosniff"),
      // The address of a registration has its code.
      ("Referrer-Policy", "no-referrer"),
      ("Cross-Origin-Opener-Policy", "same-origin"),
      ("Cross-Origin-Resource-Policy", "same-origin"),
      ("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
      // The browser asks each time, and gets the file only if it changed: the page must be of the service's version.
      ("Cache-Control", "no-cache"),
    ]
    if address.isWholeHost { headers.append(("Strict-Transport-Security", "max-age=31536000")) }
    return headers
  }
}

extension PublicAddress {
  /// Whether the service is what browsers find under this host's name. HSTS (RFC 6797) applies to all ports of a name:
  /// sent from another port, it would block a neighbour without TLS.
  fileprivate var isWholeHost: Bool {
    url.origin.hasPrefix("https://") && !url.origin.dropFirst("https://".count).contains(":") && url.basePath.isEmpty
  }
}
