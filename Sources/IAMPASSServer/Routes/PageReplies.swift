import IAMPASSProtocol

// The phone's page as a browser fetches it. Nothing here is secret or about anybody.

extension Service {
  /// A link leads browsers to the page, which then asks for what the link says; other programs get that at once.
  func openLink(_ code: String, _ call: Call) async throws -> ServiceReply {
    let reply = call.request.wantsPage ? ServiceReply.page(.phone, call) : try await showLink(Secret(code))
    return reply.adding("Vary", "Accept")
  }

  func phoneFile(_ name: String, _ call: Call) -> ServiceReply {
    if name.isEmpty { return .page(.phone, call) }
    guard let file = PageFile.beside[name] else { return .refused(404, .notFound) }
    return .page(file, call)
  }

  /// Where a browser that was given the service's bare address finds the page.
  func leadToPage(_ call: Call) -> ServiceReply {
    ServiceReply(
      302, [], headers: [("Location", call.address.url.route(["phone", ""])), ("Cache-Control", "no-store")])
  }
}

extension ServiceReply {
  /// A file of a page, or 304 for who has it already.
  static func page(_ file: PageFile, _ call: Call) -> ServiceReply {
    let isKnown = call.request.values(of: ["If-None-Match"]).contains { $0.contains(file.tag) }
    var headers = PageHeaders.of(call.address)
    headers.append(("ETag", file.tag))
    guard !isKnown else { return ServiceReply(304, [], headers: headers) }
    headers.append(("Content-Type", file.contentType))
    return ServiceReply(200, file.bytes, headers: headers)
  }
}

/// What every file of a page is sent with.
enum PageHeaders {
  /// Everything from this service's own origin, and nothing inline: text of a stranger's can never become script.
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
      // Asked for each time, sent only where it changed: page and service are of one version.
      ("Cache-Control", "no-cache"),
    ]
    if address.isWholeHost { headers.append(("Strict-Transport-Security", "max-age=31536000")) }
    return headers
  }
}

extension PublicAddress {
  /// Whether the service is what browsers find under this host's name. HSTS (RFC 6797) is for all ports of a name:
  /// said from another port, it would shut out a neighbour that has no TLS.
  fileprivate var isWholeHost: Bool {
    url.origin.hasPrefix("https://") && !url.origin.dropFirst("https://".count).contains(":") && url.basePath.isEmpty
  }
}

extension ServiceRequest {
  /// Whether a browser's user is looking, and not a program that reads JSON.
  fileprivate var wantsPage: Bool {
    values(of: ["Accept"]).flatMap { $0.lowercased().split(separator: ",") }.contains {
      $0.prefix { $0 != ";" }.filter { $0 != " " } == "text/html"
    }
  }
}
