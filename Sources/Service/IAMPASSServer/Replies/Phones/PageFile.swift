import IAMPASSProtocol

/// A file of a web page. The files are compiled into the program (`.embedInCode`), which is installed as one file.
struct PageFile: Sendable {
  let contentType: String
  let bytes: [UInt8]
  /// A strong validator (RFC 9110 §8.8.3): the content's hash.
  let tag: String

  init(_ contentType: String, _ bytes: [UInt8]) {
    self.contentType = contentType
    self.bytes = bytes
    tag = "\"\(Digest.hexadecimal(Array(Digest.sha256(bytes).prefix(16))))\""
  }

  /// The phone's page itself.
  static let phone = PageFile("text/html; charset=utf-8", PackageResources.phone_html)

  /// The other files below `phone/`, by name.
  static let beside: [String: PageFile] = [
    "phone.css": PageFile("text/css; charset=utf-8", PackageResources.phone_css),
    "phone.webmanifest": PageFile("application/manifest+json", PackageResources.phone_webmanifest),
    "phone-icon.svg": PageFile("image/svg+xml", PackageResources.phone_icon_svg),
    "phone-icon-192.png": PageFile("image/png", PackageResources.phone_icon_192_png),
    "phone-icon-512.png": PageFile("image/png", PackageResources.phone_icon_512_png),
    "app.js": script(PackageResources.app_js),
    "changes.js": script(PackageResources.changes_js),
    "document-forms.js": script(PackageResources.document_forms_js),
    "document-memory.js": script(PackageResources.document_memory_js),
    "document-part.js": script(PackageResources.document_part_js),
    "account-view.js": script(PackageResources.account_view_js),
    "dom.js": script(PackageResources.dom_js),
    "events.js": script(PackageResources.events_js),
    "offline.js": script(PackageResources.offline_js),
    "pins.js": script(PackageResources.pins_js),
    "proofs.js": script(PackageResources.proofs_js),
    "refusals.js": script(PackageResources.refusals_js),
    "registration.js": script(PackageResources.registration_js),
    "requests.js": script(PackageResources.requests_js),
    "review.js": script(PackageResources.review_js),
    "ringing.js": script(PackageResources.ringing_js),
    "screen-lock.js": script(PackageResources.screen_lock_js),
    "service-worker.js": script(PackageResources.service_worker_js),
    "shared.js": script(PackageResources.shared_js),
  ]

  private static func script(_ bytes: [UInt8]) -> PageFile { PageFile("text/javascript; charset=utf-8", bytes) }
}

extension ServiceReply {
  /// The phone's page, or a file beside it. They have no secrets and no personal data.
  static func phoneFile(_ name: String, _ call: Call) -> ServiceReply {
    if name.isEmpty { return page(.phone, call) }
    guard let file = PageFile.beside[name] else { return refused(.notFound) }
    return page(file, call)
  }

  /// Shows a browser that was given the service's bare address the way to the page.
  static func leadingToPage(_ call: Call) -> ServiceReply { leading(to: ["phone", ""], call) }

  static func leadingToConsole(_ call: Call) -> ServiceReply { leading(to: ["console"], call) }

  private static func leading(to path: [String], _ call: Call) -> ServiceReply {
    ServiceReply(302, [], headers: [("Location", call.address.url.route(path)), ("Cache-Control", "no-store")])
  }

  /// A file of a page, or 304 for a browser that already has it.
  static func page(_ file: PageFile, _ call: Call) -> ServiceReply {
    let isKnown = call.request.values(of: ["If-None-Match"]).contains { $0.contains(file.tag) }
    var headers = PageHeaders.of(call.address)
    headers.append(("ETag", file.tag))
    guard !isKnown else { return ServiceReply(304, [], headers: headers) }
    headers.append(("Content-Type", file.contentType))
    return ServiceReply(200, file.bytes, headers: headers)
  }
}
