import IAMPASSProtocol

// Pages of a user, of the live sessions, and of the audit.

extension Console {
  /// The number of entries on a page of the audit.
  private static let auditLength = 100
  /// The most entries in an exported file.
  private static let exportLength = 50_000

  func userPage(_ id: Int64, of application: String, _ visitor: Visitor) async throws -> ServiceReply {
    let seen = try await storage.state(of: .phone(user: id))
    guard let found = try await storage.user(id, of: application),
      let phones = try await storage.managed(id, of: application)?.phones.map(\.phone)
    else { return refusal(.unknownUser) }
    // A helpdesk that registers an administrator's phone could become that administrator.
    let isOwn = try await storage.administratorsApplication() == application
    let visitor = isOwn && visitor.role < .admin ? visitor.reading : visitor
    let (application, user, sessions) = (found.application, found.user, found.sessions)
    let path = "/application/\(application.id)/user/\(user.id)"
    let isFull = phones.count >= application.settings.phones
    let several: HTML = phones.count < 2 ? .nothing : "<ul>\(phones.map { listed($0) })</ul>"
    let phone: HTML =
      user.phone.map { name in
        "<p>The phone shows “\(name)”; registered \(dated(user.registeredAt).html(orElse: "")), last used \(dated(user.lastUsedAt).html(orElse: "never")).\(phones.count == 1 ? look(at: phones[0]) : .nothing)</p>"
      } ?? "<p>No phone is registered.</p>"
    let groups = groupLinks(user.groups, of: application.id)
    let content: HTML = """
      <p class="soft">User of <a href="\(base)/application/\(application.id)">\(application.name)</a>\(groups.text.isEmpty ? .nothing : "; groups: \(groups)")</p>
      <section aria-labelledby="phone">
      <h2 id="phone">Phone</h2>
      \(phone)
      \(several)
      \(phones.map { absence(of: $0, among: phones) })
      \(isFull ? .nothing : linkForm(path + "/link", visitor, seen))
      \(careful("Lost phone", path + "/lost", visitor,
        "The phone stops working and the user's sessions end immediately. A link for a new phone is shown.",
        seen: seen, choice: phones.count < 2 ? keepSessions : "\(choice(among: phones))\(keepSessions)",
        button: "Cut the phone off"))
      </section>
      \(blockSection(path + "/unblock", found.blocks, visitor))
      <section aria-labelledby="sessions">
      <h2 id="sessions">Live sessions</h2>
      \(table(of: sessions, visitor))
      </section>
      \(deleteSection(path + "/delete", user, visitor, seen))
      """
    return show("User \(user.known.text)", content, visitor: visitor)
  }

  /// The section on blocks; empty if there are none.
  private func blockSection(_ path: String, _ blocks: RequestBlocks, _ visitor: Visitor) -> HTML {
    guard !blocks.isEmpty else { return .nothing }
    return """
      <section aria-labelledby="blocks">
      <h2 id="blocks">Held back</h2>
      <p>Denied, or answered with wrong digits, in the last \((Denials.pause + Denials.window) / 60) minutes: \(blocks.denials). \(Denials.greatestCount) from one place within \(Denials.window / 60) minutes close that place to this user, until \(Denials.pause / 60) minutes after the last one.</p>
      <p>Places that the user reported, closed for \(SourceBlock.lifetime / 60) minutes each: \(blocks.reportedSources).</p>
      \(careful("Let requests through", path, visitor,
        "Ask the user first: if somebody else made these requests, they can go on with it.",
        button: "Let requests through"))
      </section>
      """
  }

  private func deleteSection(_ path: String, _ user: UserSummary, _ visitor: Visitor, _ seen: String) -> HTML {
    guard visitor.may(path) else { return .nothing }
    return """
      <section aria-labelledby="delete">
      <h2 id="delete">Delete</h2>
      \(careful("Delete this user", path, visitor,
        "Phone, links and sessions go with the user. This cannot be undone.", seen: seen,
        button: "Delete \(user.known.name == nil ? "the user " : "")\(user.known.text)"))
      </section>
      """
  }

  private func look(at phone: Phone) -> HTML {
    guard let time = dated(phone.lookedAt) else { return .nothing }
    return " Its page was last looked at \(time.html)."
  }

  /// A warning if the phone's browser may soon delete its key; otherwise empty.
  private func absence(of phone: Phone, among phones: [Phone]) -> HTML {
    guard let days = phone.absence(at: now) else { return .nothing }
    let which = phones.count == 1 ? "this phone" : phone.label
    return """
      <p class="problem">The page of \(which) was not opened for \(days) days. Safari forgets a phone after seven days
      without a visit, unless the page is on the home screen. Ask the user to open the page; if it has forgotten the phone,
      report the phone as lost here, and send the user the new link.</p>
      """
  }

  private func listed(_ phone: Phone) -> HTML {
    "<li>\(phone.label)\(phone.presence == .away ? " (away)" : ""), registered \(dated(phone.registeredAt).html(orElse: "")).\(look(at: phone))</li>"
  }

  private func choice(among phones: [Phone]) -> HTML {
    let each: [HTML] = phones.map { "<option value=\"\($0.id)\">\($0.label)</option>" }
    return "<label>Which <select name=\"phone\"><option value=\"\">all phones</option>\(each)</select></label>"
  }

  private var keepSessions: HTML {
    """
    <label class="choice"><input type="checkbox" name="keep_sessions" value="on"> Keep the user's sessions</label>
    """
  }

  private func linkForm(_ path: String, _ visitor: Visitor, _ seen: String) -> HTML {
    form(
      path, visitor, seen: seen,
      """
      <label>Name on the phone
      <input type="text" name="display_name" maxlength="100" autocomplete="off" required></label>
      <button>Make a registration link</button>
      """)
  }

  func sessionsPage(_ visitor: Visitor) async throws -> ServiceReply {
    let status = query("result")
    let found = try await storage.liveSessions(matching: sessionFilter)
    let sessions = found.sessions.filter { status.isEmpty || $0.session.lifecycle.status.word == status }
    let further: HTML =
      found.further.map { place -> HTML in
        """
        <p><a href="\(next("/sessions", keeping: Self.searchFields, [("start", place)]))">Older sessions</a>
        <span class="soft">(a search looks through \(SessionFilter.greatestReach) sessions, and goes on there)</span></p>
        """
      } ?? .nothing
    let none = found.further == nil ? "Nobody is signed in." : "None among these sessions."
    let content: HTML = """
      \(searchForm("/sessions", Self.placeFields, resultChoices(["active", "walkaway"])))
      <section aria-labelledby="title">\(table(of: sessions, visitor, none: none))</section>
      \(further)
      """
    return show("Live sessions", content, visitor: visitor)
  }

  private func table(
    of sessions: [SessionSummary], _ visitor: Visitor, none: String = "Nobody is signed in."
  ) -> HTML {
    var table = ConsoleTable(["Who", "Where", "From", "Since", "Status", ""])
    for one in sessions {
      let context = one.session.context
      let place = shown([context.host, context.service]).joined(separator: ", ")
      let origin = (shown([context.remoteHost]) + shown([one.session.address]).map { "by \($0)" }).joined(
        separator: " ")
      table.add([
        "\(one.phone ?? shown([context.user]).first ?? "–") <small>(\(one.application))</small>", "\(place)",
        "\(origin)",
        dated(one.session.lifecycle.approvedAt).html(orElse: ""),
        "\(one.session.lifecycle.status.word) <small>\(short(one.session.id))</small>",
        form(
          "/sessions/\(one.session.id)/end", visitor,
          "<button class=\"quiet\" aria-label=\"Log out \(one.phone ?? "") at \(place)\">Log out</button>"),
      ])
    }
    return table.html(none: none)
  }

  /// Values from computers, escaped as on phones.
  func shown(_ values: [String?]) -> [String] { values.compactMap { $0.map(DisplayText.escaped) } }

  /// The beginning of a session's name, as in lists on computers and phones.
  private func short(_ session: String) -> String { "session \(session.prefix(8))" }

  /// An entry's values in one cell. A phone often has its user's name, which is then shown once.
  func words(_ names: [String], of entry: AuditEntry) -> HTML {
    var values: [String] = []
    for value in shown(names.map { entry[$0] }) where values.last != value { values.append(value) }
    return "\(values.joined(separator: ", "))"
  }

  /// The name in the entry, as it was then. Otherwise the entry's user, as the service knows them now.
  private func who(_ entry: AuditEntry) -> HTML {
    let named = words(["phone", "account"], of: entry)
    guard named.text.isEmpty, let number = entry["user"] else { return named }
    return entry.known?.html ?? "user \(number), deleted"
  }

  /// The entry's reason in words.
  func reason(of entry: AuditEntry) -> String? { entry["reason"].map(ReasonWord.textForOthers) }

  private func more(_ entry: AuditEntry) -> HTML {
    let values = ["application", "credential"].map { entry[$0] } + [reason(of: entry), entry["session"].map(short)]
    return "\(shown(values).joined(separator: ", "))"
  }

  /// The actor: an administrator by name and role, others by the credential that they used.
  private func by(_ entry: AuditEntry) -> HTML {
    let name = entry["administrator"]
    guard let actor = entry.actor else { return "\(shown([name ?? "unknown"]).joined())" }
    let details = actor.details.map { $0.name == "role" ? $0.value : "\($0.name) \($0.value)" }
    let party = ([actor.kind] + (actor.id.map { [String($0.prefix(8))] } ?? [])).joined(separator: " ")
    return "\(shown([name, party] + details).joined(separator: ", "))"
  }

  func auditPage(_ visitor: Visitor) async throws -> ServiceReply {
    let before = call.target.value("before").flatMap { Int64($0) }
    let found = try await storage.auditEntries(matching: auditFilter, before: before, limit: Self.auditLength)
    var table = ConsoleTable(["When", "What", "Who", "Where", "From", "More", "By"])
    for entry in found.entries {
      func words(_ names: [String]) -> HTML { self.words(names, of: entry) }
      table.add([
        entry.at.htmlWithSeconds, "\(entry.event)", who(entry), words(["host", "service", "tty"]),
        words(["remote_host", "address"]), more(entry), by(entry),
      ])
    }
    let further: HTML =
      found.further.map { place -> HTML in
        """
        <p><a href="\(older(than: place))">Older entries</a> <span class="soft">(a search looks through
        \(AuditFilter.greatestReach) entries, and goes on there)</span></p>
        """
      } ?? .nothing
    let content: HTML = """
      \(searchForm("/audit", Self.placeFields, resultChoices(AuditFilter.Result.allCases.map(\.rawValue))))
      <p><a href="\(base)/audit.jsonl">Download as JSON lines</a> <span class="soft">(the newest \(Self.exportLength); all of
      them: <code>iampass-server audit --json-lines</code>)</span></p>
      <section aria-labelledby="title">\(table.html(none: "No entries here."))</section>
      \(further)
      """
    return show("Audit", content, visitor: visitor)
  }

  private static let placeFields = [
    (name: "user", label: "User", kind: "search"), (name: "computer", label: "Computer", kind: "search"),
    (name: "from", label: "From (UTC day)", kind: "date"), (name: "to", label: "To (UTC day)", kind: "date"),
  ]

  /// The names of the fields of a search for sessions, and for entries of the audit.
  private static let searchFields = ["user", "computer", "result", "from", "from_at", "to", "to_at"]

  private func older(than entry: Int64) -> String {
    next("/audit", keeping: Self.searchFields, [("before", "\(entry)")])
  }

  func auditExport(_ visitor: Visitor) async throws -> ServiceReply {
    let act = ConsoleAct(administrator: visitor.name, approval: visitor.administrator?.session, seen: nil)
    // Nobody has it without an entry.
    try await ConsoleAct.$current.withValue(act) { try await storage.noteExport(to: call.client, at: now) }
    let entries = try await storage.newestAuditEntries(before: nil, limit: Self.exportLength)
    let lines = entries.reversed().map { $0.jsonLine + "\n" }.joined()
    return file(Array(lines.utf8), type: "application/jsonl", name: "iampass-audit.jsonl")
  }
}
