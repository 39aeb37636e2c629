import IAMPASSProtocol

// Pages of a user, of the live sessions, and of the audit.

extension Console {
  /// The number of entries on a page of the audit.
  private static let auditLength = 100
  /// The greatest number of entries in a file.
  private static let exportLength = 50_000

  func userPage(_ id: Int64, of application: String, _ visitor: Visitor) async throws -> ServiceReply {
    guard let found = try await storage.user(id, of: application) else { return refusal(404, .unknownUser) }
    let (application, user, sessions) = (found.application, found.user, found.sessions)
    let path = "/application/\(application.id)/user/\(user.id)"
    let phone: HTML =
      user.phone.map { name in
        "<p>The phone shows “\(name)”; registered \(dated(user.registeredAt).html(orElse: "")), last used \(dated(user.lastUsedAt).html(orElse: "never")).\(look(at: user))</p>"
      } ?? "<p>No phone is registered.</p>"
    let content: HTML = """
      <p class="soft">User of <a href="\(base)/application/\(application.id)">\(application.name)</a></p>
      <section aria-labelledby="phone">
      <h2 id="phone">Phone</h2>
      \(phone)
      \(user.phone == nil ? linkForm(path + "/link", visitor, user) : .nothing)
      \(careful("Lost phone", path + "/lost", visitor,
        "The phone stops working and the user's sessions end immediately. A link for a new phone is shown.",
        choice: keepSessions, button: "Cut the phone off"))
      </section>
      <section aria-labelledby="sessions">
      <h2 id="sessions">Live sessions</h2>
      \(table(of: sessions, visitor))
      </section>
      <section aria-labelledby="delete">
      <h2 id="delete">Delete</h2>
      \(careful("Delete this user", path + "/delete", visitor,
        "Phone, links and sessions go with the user. This cannot be undone.", button: "Delete \(user.shownName)"))
      </section>
      """
    return show("User \(user.shownName)", content, visitor: visitor)
  }

  private func look(at user: UserSummary) -> HTML {
    guard let time = dated(user.lookedAt) else { return .nothing }
    return " Its page was last looked at \(time.html)."
  }

  private var keepSessions: HTML {
    """
    <label class="choice"><input type="checkbox" name="keep_sessions" value="on"> Keep the user's sessions</label>
    """
  }

  private func linkForm(_ path: String, _ visitor: Visitor, _ user: UserSummary) -> HTML {
    form(
      path, visitor,
      """
      <label>Name on the phone
      <input type="text" name="display_name" maxlength="100" autocomplete="off" required></label>
      <button>Make a registration link</button>
      """)
  }

  func sessionsPage(_ visitor: Visitor) async throws -> ServiceReply {
    let sessions = try await storage.liveSessions()
    let all: HTML =
      sessions.count == SessionSummary.greatestCount
      ? "<p class=\"soft\">Only the newest \(sessions.count). A user's page lists all.</p>" : .nothing
    let content: HTML = "<section aria-labelledby=\"title\">\(table(of: sessions, visitor))\(all)</section>"
    return show("Live sessions", content, visitor: visitor)
  }

  private func table(of sessions: [SessionSummary], _ visitor: Visitor) -> HTML {
    var table = ConsoleTable(["Who", "Where", "From", "Since", "Status", ""])
    for one in sessions {
      let context = one.session.context
      let place = shown([context.host, context.service]).joined(separator: ", ")
      let origin = (shown([context.remoteHost]) + shown([one.session.address]).map { "by \($0)" }).joined(
        separator: " ")
      table.add([
        "\(one.phone ?? shown([context.user]).first ?? "–") <small>(\(one.application))</small>", "\(place)",
        "\(origin)",
        dated(one.session.lifecycle.approvedAt).html(orElse: ""), "\(one.session.lifecycle.status.word)",
        form(
          "/sessions/\(one.session.id)/end", visitor,
          "<button class=\"quiet\" aria-label=\"Log out \(one.phone ?? "") at \(place)\">Log out</button>"),
      ])
    }
    return table.html(none: "Nobody is signed in.")
  }

  /// Values from computers, escaped as phones show them.
  private func shown(_ values: [String?]) -> [String] { values.compactMap { $0.map(DisplayText.escaped) } }

  func auditPage(_ visitor: Visitor) async throws -> ServiceReply {
    let before = call.target.value("before").flatMap { Int64($0) }
    let entries = try await storage.newestAuditEntries(before: before, limit: Self.auditLength)
    var table = ConsoleTable(["When", "What", "Who", "Where", "From", "More"])
    for entry in entries {
      func words(_ names: [String]) -> HTML { "\(shown(names.map { entry[$0] }).joined(separator: ", "))" }
      table.add([
        entry.at.html, "\(entry.event)", words(["phone", "account"]), words(["host", "service", "tty"]),
        words(["remote_host", "address"]), words(["application", "credential", "reason"]),
      ])
    }
    let older: HTML =
      entries.count == Self.auditLength
      ? "<p><a href=\"\(base)/audit?before=\(entries[entries.count - 1].id)\">Older entries</a></p>" : .nothing
    let content: HTML = """
      <p><a href="\(base)/audit.jsonl">Download as JSON lines</a> <span class="soft">(the newest \(Self.exportLength); all of
      them: <code>iampass-server audit --json-lines</code>)</span></p>
      <section aria-labelledby="title">\(table.html(none: "No entries yet."))</section>
      \(older)
      """
    return show("Audit", content, visitor: visitor)
  }

  func auditExport() async throws -> ServiceReply {
    let entries = try await storage.newestAuditEntries(before: nil, limit: Self.exportLength)
    let lines = entries.reversed().map { $0.jsonLine + "\n" }.joined()
    return file(Array(lines.utf8), type: "application/jsonl", name: "iampass-audit.jsonl")
  }
}
