import IAMPASSProtocol

/// The administrator's pages: forms and links, no script.
struct Console: Sendable {
  /// The prefix makes browsers accept the cookie only from this host, only over TLS, and for every path (RFC 6265bis
  /// §4.1.3).
  static let cookie = "__Host-iampass-console"

  let core: ServiceCore
  let management: ManagementReplies
  let sessions: SessionReplies
  let publicURL: ServerURL?
  let call: Call
  let now: UnixTime

  var storage: any ServiceStorage { core.storage }
  /// Converts stored service time for display.
  func dated(_ time: UnixTime?) -> UnixTime? { time.map(storage.clock.unixTime) }
  /// The address of the pages, as the browser sees it.
  var base: String { call.address.url.basePath + "/console" }

  /// A browser that has signed in.
  struct Visitor: Sendable {
    let key: Secret
    let formToken: Secret
  }

  func reply(to path: [String]) async throws -> ServiceReply {
    guard let route = ConsoleRoute(path) else { return refusal(404, .notFound) }
    guard route.methods.contains(call.request.method) else {
      return refusal(405, .methodNotAllowed).adding("Allow", route.methods.sorted().joined(separator: ", "))
    }
    switch route {
    case .style: return Self.style
    case .enter(let code?): return try await door(Secret(code))
    case .enter(nil):
      guard isFromHere else { return refusal(403, .wrongOrigin) }
      return try await enter()
    default: break
    }
    guard let visitor = try await visitor() else { return refusal(401, .notSignedIn) }
    if call.request.method == "POST" {
      guard isFromHere else { return refusal(403, .wrongOrigin) }
      guard let token = field("token"), Secret(token) == visitor.formToken else { return refusal(403, .badFormToken) }
      return try await act(route, visitor)
    }
    return try await page(route, visitor)
  }

  /// Whether one of our own pages sent the form. The browser itself says so, and a page cannot change that.
  private var isFromHere: Bool {
    let origins = call.request.values(of: ["Origin"])
    let sites = call.request.values(of: ["Sec-Fetch-Site"])
    return origins.allSatisfy { $0 == call.address.url.origin } && sites.allSatisfy { $0 == "same-origin" }
      && !(origins.isEmpty && sites.isEmpty)
  }

  private func visitor() async throws -> Visitor? {
    guard let key = cookieValue else { return nil }
    guard let visit = try await storage.consoleVisit(key, at: now) else { return nil }
    if visit.isUseOld { try await storage.markUsed(consoleVisit: key, at: now) }
    call.request.onProof()
    return Visitor(key: key, formToken: visit.formToken)
  }

  private var cookieValue: Secret? {
    // Compares bytes, as browsers do: Swift's Character treats a Greek question mark as a semicolon.
    let pairs = call.request.values(of: ["Cookie"]).flatMap { $0.utf8.split(separator: UInt8(ascii: ";")) }
    let values = pairs.compactMap { pair -> Secret? in
      let sides = Substring(pair).trimming(" \t").split(separator: "=", maxSplits: 1)
      return sides.count == 2 && sides[0] == Self.cookie ? Secret(String(sides[1])) : nil
    }
    return values.count == 1 ? values[0] : nil
  }

  /// A field of the form; nil if the form does not have it exactly once.
  func field(_ name: String) -> String? { form?.value(name) }

  private var form: RequestTarget? {
    guard let text = String(validating: call.request.body, as: UTF8.self) else { return nil }
    return RequestTarget(Substring("/?" + text))
  }

  // MARK: Signing in

  /// Opening the link changes nothing, since mail programs and chats open links too.
  private func door(_ code: Secret) async throws -> ServiceReply {
    guard try await storage.isUsable(consoleLink: code, at: now) else {
      return refusal(404, .unknownLink)
    }
    let content: HTML = """
      <p>This link opens the console in this browser, once.</p>
      <form method="post" action="\(base)/enter">
      <input type="hidden" name="code" value="\(code.exposedValue)">
      <button>Sign in</button>
      </form>
      """
    return show("Sign in", content, visitor: nil)
  }

  private func enter() async throws -> ServiceReply {
    guard let code = field("code").map({ Secret($0) }) else { return refusal(400, .badRequest) }
    // A read is enough to check, so that a guessed code does not cost a write.
    guard try await storage.isUsable(consoleLink: code, at: now) else {
      return refusal(404, .unknownLink)
    }
    let key = Secret(try RandomValue.identifier())
    guard try await storage.enterConsole(by: code, key: key, from: call.client, at: now) else {
      return refusal(404, .unknownLink)
    }
    core.logger.notice("a browser signed in to the console", metadata: ["address": "\(call.client.text)"])
    let attributes = "Path=/; Max-Age=\(ConsoleAccess.visitLifetime); Secure; HttpOnly; SameSite=Strict"
    return redirect("").adding("Set-Cookie", "\(Self.cookie)=\(key.exposedValue); \(attributes)")
  }

  func leave(_ visitor: Visitor) async throws -> ServiceReply {
    try await storage.leaveConsole(visitor.key)
    let gone = "\(Self.cookie)=; Path=/; Max-Age=0; Secure; HttpOnly; SameSite=Strict"
    return show("Signed out", "<p>This browser is signed out of the console.</p>", visitor: nil)
      .adding("Set-Cookie", gone)
  }
}
