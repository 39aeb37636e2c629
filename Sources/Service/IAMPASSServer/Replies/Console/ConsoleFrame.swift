import IAMPASSProtocol

// The frame of every page of the console.

extension Console {
  /// Allows only our own style, script, pictures and forms, and forbids other pages to embed ours.
  private static let policy =
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

  private static let headers = [
    ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"), ("Content-Security-Policy", policy),
    ("X-Frame-Options", "DENY"), ("Cross-Origin-Opener-Policy", "same-origin"),
    // Not no-referrer: browsers would then send forms without their origin.
    ("Referrer-Policy", "same-origin"),
  ]

  static var style: ServiceReply {
    ServiceReply(200, Array(ConsoleStyle.text.utf8), headers: [("Content-Type", "text/css; charset=utf-8")] + headers)
  }

  static var script: ServiceReply {
    ServiceReply(
      200, Array(ConsoleScript.text.utf8), headers: [("Content-Type", "text/javascript; charset=utf-8")] + headers)
  }

  func file(_ bytes: [UInt8], type: String, name: String) -> ServiceReply {
    ServiceReply(
      200, bytes,
      headers: [("Content-Type", type), ("Content-Disposition", "attachment; filename=\"\(name)\"")] + Self.headers)
  }

  /// - Parameter path: below the console's address.
  func redirect(_ path: String, done: ConsoleNotice? = nil) -> ServiceReply {
    let query = done.map { "?done=" + $0.rawValue } ?? ""
    return ServiceReply(303, [], headers: [("Location", base + path + query)] + Self.headers)
  }

  func show(
    _ title: String, _ content: HTML, visitor: Visitor?, status: Int = 200, problem: String? = nil,
    reason: Reason? = nil
  ) -> ServiceReply {
    let notice = call.target.value("done").flatMap(ConsoleNotice.init(rawValue:))
    let said: HTML
    if let problem {
      said = "<p class=\"problem\" role=\"alert\">\(problem)</p>"
    } else if call.request.method == "GET", let notice {
      said = "<p class=\"notice\" role=\"status\">\(notice.text)</p>"
    } else {
      said = .nothing
    }
    let page: HTML = """
      <!doctype html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta name="color-scheme" content="light dark">
      <title>\(title) – IAMPASS console</title>
      <link rel="stylesheet" href="\(base)/style.css">
      <script src="\(base)/times.js" defer></script>
      </head>
      <body>
      \(visitor.map(navigation) ?? .nothing)
      <main id="main">
      <h1 id="title">\(title)</h1>
      \(said)
      \(content)
      \(visitor == nil ? .nothing : "<p class=\"soft\" id=\"zone\">Times are UTC.</p>")
      </main>
      </body>
      </html>

      """
    return ServiceReply(
      status, Array(page.text.utf8), headers: [("Content-Type", "text/html; charset=utf-8")] + Self.headers,
      reason: reason)
  }

  private func navigation(_ visitor: Visitor) -> HTML {
    """
    <a class="skip" href="#main">To the content</a>
    <header>
    <strong>IAMPASS</strong>
    <nav aria-label="Console">
    <a href="\(base)">Overview</a>
    <a href="\(base)/applications">Applications</a>
    <a href="\(base)/joins">Computers</a>
    <a href="\(base)/sessions">Sessions</a>
    <a href="\(base)/audit">Audit</a>
    <a href="\(base)/administrators">Administrators</a>
    </nav>
    <span class="soft">\(visitor.administrator.map { "\($0.name), \($0.role.rawValue)" } ?? "by a one-time link")</span>
    \(form("/leave", visitor, "<button class=\"quiet\">Sign out</button>"))
    </header>
    """
  }

  /// A form that only this browser's own page can send; empty if its role may not send it.
  ///
  /// - Parameter seen: a mark of what the page shows of the form's subject.
  func form(_ path: String, _ visitor: Visitor, seen: String? = nil, _ content: HTML) -> HTML {
    guard visitor.may(path) else { return .nothing }
    let mark: HTML = seen.map { "<input type=\"hidden\" name=\"seen\" value=\"\($0)\">" } ?? .nothing
    return """
      <form method="post" action="\(base + path)">
      <input type="hidden" name="token" value="\(visitor.formToken.exposedValue)">
      \(mark)
      \(content)
      </form>
      """
  }

  /// A form that opens first.
  func unfolding(
    _ summary: String, _ path: String, _ visitor: Visitor, seen: String? = nil, _ content: HTML
  ) -> HTML {
    guard visitor.may(path) else { return .nothing }
    return """
      <details>
      <summary>\(summary)</summary>
      \(form(path, visitor, seen: seen, content))
      </details>
      """
  }

  /// A form for a step that cannot be undone. It opens first, and then asks for confirmation.
  ///
  /// - Parameter choice: form fields above the button.
  func careful(
    _ summary: String, _ path: String, _ visitor: Visitor, _ words: String, seen: String? = nil,
    choice: HTML = .nothing, button: String
  ) -> HTML {
    guard visitor.may(path) else { return .nothing }
    return """
      <details>
      <summary>\(summary)</summary>
      <p>\(words)</p>
      \(form(path, visitor, seen: seen, "\(choice)<button class=\"danger\">\(button)</button>"))
      </details>
      """
  }

  /// A page for browsers, JSON for other clients.
  func refusal(_ reason: Reason) -> ServiceReply { refusal(reason, as: reason.status) }

  func refusal(_ reason: Reason, as status: Int) -> ServiceReply {
    guard call.request.values(of: ["Accept"]).contains(where: { $0.contains("text/html") }) else {
      return .refused(reason, as: status)
    }
    if reason == .notSignedIn { return signInPage(status: status, reason: reason) }
    return show(reason.consoleTitle, reason.consoleText(base), visitor: nil, status: status, reason: reason)
  }
}

/// The last change, which the next page reports.
enum ConsoleNotice: String {
  case settings, disabled, enabled, revoked, renamed, deleted, ended, rings, silent, joined, turnedAway, codeRevoked,
    listed, role, removed, settled, signatureAsked, unblocked

  fileprivate var text: String {
    switch self {
    case .settings: "The settings are stored. They apply to new requests."
    case .disabled: "The application is disabled. It cannot sign anyone in."
    case .enabled: "The application is enabled again."
    case .revoked: "The credential is revoked."
    case .renamed: "The credential has its new name."
    case .deleted: "The user is deleted. The phone no longer works."
    case .unblocked: "Requests for this user reach the phone again."
    case .ended: "The session has ended. Its computer logs the user out."
    case .listed: "The user is on the list. Computers that have joined learn of it within two seconds."
    case .joined: "The computer joins now."
    case .turnedAway: "The computer is refused."
    case .role: "The role is changed. It applies from the next request on."
    case .removed: "The administrator is removed."
    case .signatureAsked: "Your phone shows what it is to sign. Load this page again once you have approved."
    case .settled: "What was noticed of this computer is forgotten. A copy that is still in use is noticed again."
    case .codeRevoked: "The code is revoked. No computer joins by it."
    case .rings: "The notification settings are stored. They apply to new requests."
    case .silent: "The notification settings are removed, with their key."
    }
  }
}

extension Reason {
  fileprivate var consoleTitle: String {
    switch self {
    case .notSignedIn: "Sign in"
    case .roleTooLow, .ownApplication: "Not allowed"
    case .changedMeanwhile: "Changed meanwhile"
    case .unknownLink: "This link does not work"
    case .notFound, .unknownApplication, .unknownUser, .unknownSession: "Not found"
    default: "Not done"
    }
  }

  /// - Parameter base: the address of the pages.
  fileprivate func consoleText(_ base: String) -> HTML {
    switch self {
    case .notFound, .unknownApplication, .unknownUser, .unknownSession:
      "<p>The console has nothing at this address. Nothing was changed.</p><p><a href=\"\(base)\">To the overview</a></p>"
    case .roleTooLow: "<p>Your role does not allow this. Nothing was changed.</p>"
    case .ownApplication:
      "<p>This is the administrators' own application. Its secret, hosts and users are not given to anybody.</p>"
    case .changedMeanwhile:
      "<p>Somebody changed the same thing after this page was opened. Nothing was stored. Go back and load it again.</p>"
    case .notSignedIn, .unknownLink:
      """
      <p>A link into the console works once, for ten minutes. To get a new link, run this as root on the service's
      computer. A service that is not the packaged one also needs <code>--data DIR</code> or
      <code>--database URL</code>.</p>
      <pre>iampass-server console-link</pre>
      """
    default: "<p>Nothing was changed. (\(rawValue))</p>"
    }
  }
}
