import IAMPASSProtocol

// Pages of the applications and their settings.

extension Console {
  func page(_ route: ConsoleRoute, _ visitor: Visitor) async throws -> ServiceReply {
    switch route {
    case .overview: try await overviewPage(visitor)
    case .applications: try await applicationsPage(visitor)
    case .application(let id): try await applicationPage(id, visitor)
    case .groups(let application): try await groupsPage(of: application, visitor)
    case .group(let application): try await groupPage(of: application, visitor)
    case .user(let application, let user): try await userPage(user, of: application, visitor)
    case .joins: try await joinsPage(visitor)
    case .joinCode(let id): try await joinCodePage(id, visitor)
    case .sessions: try await sessionsPage(visitor)
    case .audit: try await auditPage(visitor)
    case .auditExport: try await auditExport(visitor)
    case .administrators: try await administratorsPage(visitor)
    case .style, .script, .enter, .signIn, .leave, .applicationAct, .credentialAct, .userAct, .joinAct, .endSession,
      .administratorAct, .signAdministrators:
      refusal(.notFound)
    }
  }

  func applicationsPage(_ visitor: Visitor, problem: String? = nil) async throws -> ServiceReply {
    let all = try await storage.applications()
    var table = ConsoleTable(["Name", "Users", "Live sessions", "Status", "Walkaway"])
    for one in all {
      table.add([
        "<a href=\"\(base)/application/\(one.id)\">\(one.name)</a>", "\(one.users)", "\(one.liveSessions)",
        one.settings.isDisabled ? "disabled" : "enabled", one.settings.walkaway ? "on" : "off",
      ])
    }
    let content: HTML = """
      <section aria-labelledby="title">\(table.html(none: "No applications yet."))</section>
      \(addApplicationSection(visitor))
      <section aria-labelledby="page">
      <h2 id="page">The phone's page</h2>
      <details>
      <summary>Digests of its files</summary>
      <p class="soft">SHA-256 of what this service serves to phones, as <code>iampass-server page-digest</code> prints it.</p>
      <pre>\(lines: PhonePageDigest.lines.joined(separator: "\n"))</pre>
      </details>
      </section>
      """
    return show("Applications", content, visitor: visitor, status: problem == nil ? 200 : 400, problem: problem)
  }

  private func addApplicationSection(_ visitor: Visitor) -> HTML {
    guard visitor.may("/applications") else { return .nothing }
    return """
      <section aria-labelledby="add">
      <h2 id="add">Add an application</h2>
      \(form("/applications", visitor, """
        <label>Name <small>Phones show it as the sender of requests.</small>
        <input type="text" name="name" required maxlength="100" autocomplete="off"></label>
        <button>Add</button>
        """))
      </section>
      """
  }

  func applicationPage(_ id: String, _ visitor: Visitor, problem: String? = nil) async throws -> ServiceReply {
    // This is read before the shown data, so that a change in between is noticed.
    let seen = try await storage.state(of: .application(id))
    func number(_ name: String) -> Int64 { call.target.value(name).flatMap { Int64($0) } ?? 0 }
    let page = try await storage.application(
      id, usersAfter: number("after"), matching: query("q"), credentialsAt: number("credentials"))
    guard let found = page else { return refusal(.unknownApplication) }
    let application = found.application
    let notifications = try await storage.notifications(of: id)
    let forks = try await storage.clonedComputers(of: id)
    let signing = try await signingSection(of: id, visitor)
    let content: HTML = """
      <p class="soft">Id <code>\(application.id)</code>; \(application.users) users, \(application.liveSessions) live
      sessions\(application.settings.isDisabled ? "; disabled" : "").</p>
      \(signing)
      \(usersSection(found, visitor))
      \(credentialsSection(found, copied: forks, visitor))
      \(settingsSection(application, visitor, seen: seen))
      \(notificationsSection(notifications, of: id, visitor, seen: seen))
      \(dangerSection(application, visitor, seen: seen))
      """
    return show(application.name, content, visitor: visitor, status: problem == nil ? 200 : 400, problem: problem)
  }

  private func usersSection(_ found: ApplicationOverview, _ visitor: Visitor) -> HTML {
    let (application, users) = (found.application, found.users)
    let path = "/application/\(application.id)"
    var table = ConsoleTable(["User", "Groups", "Phone", "Registered", "Last use"])
    for user in users { table.add(row(of: user, in: application.id)) }
    let note: HTML =
      query("q").isEmpty
      ? .nothing
      : "<span class=\"soft\">(a search looks through \(UserSummary.reach) users, and goes on there)</span>"
    let more: HTML =
      found.usersFurther.map {
        "<p><a href=\"\(next(path, keeping: ["q"], [("after", "\($0)")]))\">More users</a> \(note)</p>"
      } ?? .nothing
    let none = found.usersFurther == nil ? "No more users." : "None among these users."
    return """
      <section aria-labelledby="users">
      <h2 id="users">Users</h2>
      \(searchForm(path, [("q", "User, phone or group", "search")]))
      \(table.html(none: application.users == 0 && query("q").isEmpty ? "No users yet. Add them here, or with iampassctl user add." : none))
      \(more)
      <p><a href="\(base + path)/groups">Groups of these users</a></p>
      \(unfolding("Add a user to the list", "/application/\(application.id)/users", visitor, """
        <p class="soft">For computers that have joined: they learn of the user within two seconds. The next page has a link
        for the user's phone, unless there is one. A user who is on the list already gets these groups.</p>
        <label>Unix user name <small>The same on all computers.</small>
        <input type="text" name="name" required maxlength="64" autocomplete="off" spellcheck="false"></label>
        <label>Groups <small>With spaces between; none: no computer of a group has the user.</small>
        <input type="text" name="groups" maxlength="200" autocomplete="off" spellcheck="false"></label>
        <button>Add the user</button>
        """))
      </section>
      """
  }

  /// The credential's name, with a warning about copies.
  private func name(of one: KnownCredential, _ fork: ClonedComputer?) -> HTML {
    guard let fork else { return "\(one.name)" }
    let what = fork.areBothUsed ? "copied: two computers use it" : "copied, or its disk was put back"
    return """
      \(one.name) <strong>\(what)</strong>
      <small>\(fork.address ?? "-") and \(fork.otherAddress ?? "-"), since \(fork.firstAt.html)</small>
      """
  }

  private func credentialsSection(
    _ found: ApplicationOverview, copied forks: [ClonedComputer], _ visitor: Visitor
  ) -> HTML {
    let id = found.application.id
    let more: HTML =
      found.credentialsFurther.map { next -> HTML in
        "<p><a href=\"\(base)/application/\(id)?credentials=\(next)#credentials\">More credentials</a></p>"
      } ?? .nothing
    var table = ConsoleTable(["Name", "Host", "Last use", ""])
    for one in found.credentials {
      let path = "/application/\(id)/credential/\(one.id)"
      let seen = SeenState.mark([one.name, "\(one.isRevoked)"])
      let acts: HTML =
        one.isRevoked
        ? "revoked \(dated(one.revokedAt).html(orElse: ""))"
        : """
        \(unfolding("Rename", path + "/rename", visitor, seen: seen, """
          <label>New name of \(one.name)
          <input type="text" name="name" value="\(one.name)" required maxlength="100" autocomplete="off"></label>
          <button>Rename</button>
          """))
        \(careful("Revoke", path + "/revoke", visitor,
          "\(one.host) can no longer sign anyone in with it. This cannot be undone.", seen: seen,
          button: "Revoke \(one.name)"))
        """
      let host: HTML = one.isOpenID ? "\(one.host) (OpenID client)" : "\(one.host)"
      let fork = forks.first { $0.credential == one.id }
      table.add([name(of: one, fork), host, dated(one.lastUsedAt).html(orElse: "never"), acts])
    }
    return """
      <section aria-labelledby="credentials">
      <h2 id="credentials">Host credentials</h2>
      <p class="soft">Give each host its own credential. It can request sign-ins but cannot register phones. Phones show
      the credential's host.</p>
      \(table.html(none: "No host credentials yet."))
      \(more)
      \(unfolding("Add a host credential", "/application/\(id)/credentials", visitor, """
        <label>Name <small>For administrators.</small>
        <input type="text" name="name" required maxlength="100" autocomplete="off"></label>
        <label>Host <small>Phones show it.</small>
        <input type="text" name="host" required maxlength="100" autocomplete="off"></label>
        <button>Make the credential</button>
        """))
      </section>
      """
  }

  private func settingsSection(_ application: ApplicationSummary, _ visitor: Visitor, seen: String) -> HTML {
    let path = "/application/\(application.id)/settings"
    let fields = settingsFields(application.settings)
    return """
      <section aria-labelledby="settings">
      <h2 id="settings">Settings</h2>
      \(visitor.may(path)
        ? form(path, visitor, seen: seen, "\(fields)<button>Store the settings</button>")
        : "<fieldset disabled><legend>Your role reads these.</legend>\(fields)</fieldset>")
      </section>
      """
  }

  private func settingsFields(_ settings: ApplicationSettings) -> HTML {
    """
    <label class="choice"><input type="checkbox" name="walkaway" value="on"\(settings.walkaway ? " checked" : "")>
    <span>Walkaway <small>Sessions leave with their phone.</small></span></label>
    <label class="choice"><input type="checkbox" name="silence" value="on"\(settings.silenceLeaves ? " checked" : "")>
    <span>Silence leaves <small>An <code>iampass-phone</code> that is silent for \(PresenceBySilence.patience)
    seconds has left. A phone's page says when somebody looks at it, and nothing while the screen is off. So the
    service knows when that was last, but not whether the phone left since: silence never counts for a page. A computer that looks for the phone by Bluetooth can
    know it: <code>presence</code> in iampass.conf(5).</small></span></label>
    <label class="choice"><input type="checkbox" name="face" value="on"\(settings.appsVouchForFaces ? " checked" : "")>
    <span>Apps vouch for faces <small>Apps of your own may offer the method <code>facial</code>. It is their word:
    nothing proves it to the service, and computers that verify approvals do not take it. The phone's page never
    offers it.</small></span></label>
    <label>Match codes <small>Phones ask for two digits that the terminal shows. Required: the service refuses
    computers that do not send the sign-in's details, and so cannot show the digits.</small>
    <select name="match_code">\(choices(of: settings.matchCodes))</select></label>
    <label>Phones of a user <small>With two, both are asked, and the first answer counts.</small>
    <select name="phones">\(ApplicationSettings.phoneCounts.map { count -> HTML in
      "<option\(count == settings.phones ? " selected" : "")>\(count)</option>"
    })</select></label>
    <label>Synced passkeys <small>A screen lock's key that iCloud or Google copies to the user's other devices, as on most
    iPhones. Refused: the method <code>device</code> takes only keys that stay on the phone, by the phone's own
    word.</small>
    <select name="synced_passkeys">\(choices(of: settings.acceptsSyncedPasskeys))</select></label>
    <label>Seconds until a request expires <small>\(ApplicationSettings.answerTimes.lowerBound) to
    \(ApplicationSettings.answerTimes.upperBound)</small>
    <input type="number" name="answer_time" required min="\(ApplicationSettings.answerTimes.lowerBound)"
    max="\(ApplicationSettings.answerTimes.upperBound)" value="\(settings.answerTime)"></label>
    <label>Greatest length of a session, in seconds <small>1 to \(SessionLifecycle.durations.upperBound), which is 30
    days</small>
    <input type="number" name="greatest_duration" required min="1" max="\(SessionLifecycle.durations.upperBound)"
    value="\(settings.greatestDuration)"></label>
    <label>Program that sends registration links <small>Its path in
    \(management.programs), or nothing. Its standard input has the phone number in the
    first line, and then the message.</small>
    <input type="text" name="hook" maxlength="\(ApplicationSettings.greatestHookLength)" value="\(settings.hook)"
    autocomplete="off" spellcheck="false"></label>
    """
  }

  private func choices(of chosen: MatchCodes) -> [HTML] {
    MatchCodes.allCases.map { one in
      "<option value=\"\(one.rawValue)\"\(one == chosen ? " selected" : "")>\(one.rawValue)</option>"
    }
  }

  private func choices(of acceptsSynced: Bool) -> [HTML] {
    SyncedPasskeys.allCases.map { one in
      "<option\((one == .accepted) == acceptsSynced ? " selected" : "")>\(one.rawValue)</option>"
    }
  }

  private func dangerSection(_ application: ApplicationSummary, _ visitor: Visitor, seen: String) -> HTML {
    let path = "/application/\(application.id)"
    guard visitor.may(path + "/secret") else { return .nothing }
    let ability: HTML =
      application.settings.isDisabled
      ? form(path + "/enable", visitor, seen: seen, "<button>Enable \(application.name)</button>")
      : careful(
        "Disable", path + "/disable", visitor,
        "Until it is enabled again, it cannot sign anyone in or manage users. Sessions go on.", seen: seen,
        button: "Disable \(application.name)")
    return """
      <section aria-labelledby="status">
      <h2 id="status">Secret and status</h2>
      \(careful("New secret", path + "/secret", visitor,
        "The old secret stops working immediately, on every computer that has it. Host credentials keep their secrets.",
        seen: seen, button: "Make a new secret"))
      \(ability)
      </section>
      """
  }
}
