import IAMPASSProtocol

// Computers that ask to join, and the codes by which they do.

extension Console {
  func joinsPage(_ visitor: Visitor, status: Int = 409, problem: String? = nil) async throws -> ServiceReply {
    let waiting = try await storage.waitingJoins(after: query("waiting"))
    let codes = try await storage.joinCodes(after: query("codes"))
    let computers = try await computersSection(visitor)
    let making = try await makingSection(visitor)
    let content: HTML = """
      \(computers)
      <section aria-labelledby="waiting">
      <h2 id="waiting">Waiting for approval</h2>
      \(waitingTable(waiting, visitor))
      \(furtherOnJoins("waiting", waiting.further, "More computers that wait"))
      </section>
      <section aria-labelledby="codes">
      <h2 id="codes">Join codes</h2>
      \(codeTable(codes.codes, visitor))
      \(furtherOnJoins("codes", codes.further, "Older codes"))
      \(making)
      </section>
      """
    return show("Computers", content, visitor: visitor, status: problem == nil ? 200 : status, problem: problem)
  }

  /// The link to a list's next page; nothing after its last one. The other lists of the page begin at their tops there.
  private func furtherOnJoins(_ list: String, _ place: String?, _ words: String) -> HTML {
    guard let place else { return .nothing }
    return "<p><a href=\"\(next("/joins", keeping: [], [(list, place)]))\">\(words)</a></p>"
  }

  private func makingSection(_ visitor: Visitor) async throws -> HTML {
    guard visitor.may("/joins") else { return .nothing }
    let own = try await storage.administratorsApplication()
    let choices = try await storage.applications().filter { $0.id != own }.map { one -> HTML in
      "<option value=\"\(one.id)\">\(one.name)</option>"
    }
    let (uses, days) = (JoinOrder.usesRange, JoinOrder.daysRange)
    return unfolding(
      "Make a join code", "/joins", visitor,
      """
      <label>Application <select name="application">\(choices)</select></label>
      <label>Computers <small>That may join by it.</small>
      <input type="number" name="uses" required min="\(uses.lowerBound)" max="\(uses.upperBound)" value="1"></label>
      <label>Days <small>That it is good for.</small>
      <input type="number" name="days" required min="\(days.lowerBound)" max="\(days.upperBound)" value="1"></label>
      <label>Group <small>The computers have the users of this group only; nothing: all.</small>
      <input type="text" name="group" maxlength="64" autocomplete="off" spellcheck="false"></label>
      <label class="choice"><input type="checkbox" name="unattended" value="on">
      <span>Unattended <small>Whoever has the code joins without an administrator's approval.</small></span></label>
      <button>Make the code</button>
      """)
  }

  /// Makes a code, and shows it this one time.
  func addJoinCode(_ visitor: Visitor) async throws -> ServiceReply {
    guard let uses = field("uses").flatMap({ Int($0) }), JoinOrder.usesRange.contains(uses),
      let days = field("days").flatMap({ Int($0) }), JoinOrder.daysRange.contains(days)
    else {
      return try await joinsPage(
        visitor, status: 400,
        problem:
          "A code is for 1 to \(JoinOrder.usesRange.upperBound) computers and 1 to \(JoinOrder.daysRange.upperBound) days."
      )
    }
    guard let random = Digest.randomBytes(JoinCode.secretLength) else { return refusal(.tooManyRequests) }
    let secret = Secret(Base64URL.encode(random))
    // By its id alone: a name would not be seen to be the administrators'.
    guard let application = try await storage.application(trimmedField("application"))?.id else {
      return refusal(.unknownApplication)
    }
    // Computers that join an administrators' application could ask administrators' phones.
    guard try await storage.administratorsApplication() != application else { return refusal(.ownApplication) }
    do {
      let code = try await joinCodes.make(secret)
      let stored = try await storage.createJoinCode(
        JoinOrder(
          application: application, secret: secret, uses: uses, days: days, isUnattended: field("unattended") == "on",
          group: trimmedField("group")), at: now)
      let fleet = stored.fleet(try await storage.storedSets())
      let whole = JoinCode(anchor: code.anchor, digest: code.digest, secret: secret, fleet: fleet?.digest)
      return showLine(of: whole, uses: uses, days: days, visitor)
    } catch let problem as JoinCodeMaker.Problem {
      let hint = problem.hint.map { "; " + $0 } ?? ""
      return try await joinsPage(visitor, problem: problem.text + hint)
    } catch JoinOrderRefusal.unknownApplication {
      return refusal(.unknownApplication)
    } catch JoinOrderRefusal.groupNotFit {
      return try await joinsPage(
        visitor, status: 400, problem: "A group's name has letters, digits, points, hyphens and underscores.")
    }
  }

  private func showLine(of code: JoinCode, uses: Int, days: Int, _ visitor: Visitor) -> ServiceReply {
    let url = publicURL ?? call.address.url
    let content: HTML = """
      <section aria-labelledby="title">
      <p>To type on \(uses == 1 ? "one computer" : "up to \(uses) computers"), within
      \(days == 1 ? "a day" : "\(days) days"). The code is shown only once.</p>
      <pre>iampassctl join \("\(url)") \(code.exposedText)</pre>
      <p><a href="\(base)/joins">Done</a></p>
      </section>
      """
    return show("New join code", content, visitor: visitor)
  }

  /// Who asked by one code, in pages.
  func joinCodePage(_ id: String, _ visitor: Visitor) async throws -> ServiceReply {
    guard let found = try await storage.joinCode(id, after: query("after")) else { return refusal(.unknownJoinCode) }
    var table = ConsoleTable(["Computer", "Came to", "Its digits", "From", "Asked"])
    for one in found.page.computers.map(\.joining) {
      table.add(["\(one.name)", "\(one.state.rawValue)", "\(one.mark)", "\(one.address)", one.askedAt.html])
    }
    let more: HTML =
      found.page.further.map { place -> HTML in
        "<p><a href=\"\(next("/joins/\(id)", keeping: [], [("after", place)]))\">More computers</a></p>"
      } ?? .nothing
    let code = found.code
    let group: HTML = code.group.isEmpty ? .nothing : ", group \(code.group)"
    let content: HTML = """
      <p class="soft">For \(found.application)\(group); made \(code.createdAt.html), expires \(code.expiresAt.html)\(code.isUnattended ? "; unattended" : "").</p>
      <section aria-labelledby="title">
      <p>\(code.used) of \(code.uses) computers have asked by it.</p>
      \(table.html(none: "No computers."))
      \(more)
      </section>
      <p><a href="\(base)/joins">All computers</a></p>
      """
    return show("Join code \(id)", content, visitor: visitor)
  }

  private func waitingTable(_ page: JoiningPage, _ visitor: Visitor) -> HTML {
    var table = ConsoleTable(["Computer", "Its digits", "For", "From", "Since", ""])
    for listed in page.computers {
      let one = listed.joining
      table.add([
        "\(one.name)", "<strong>\(one.mark)</strong>", "\(listed.application)", "\(one.address)", one.askedAt.html,
        """
        \(form("/joins/\(one.id)/approve", visitor, "<button>Approve \(one.name)</button>"))
        \(form("/joins/\(one.id)/refuse", visitor, "<button class=\"quiet\">Refuse \(one.name)</button>"))
        """,
      ])
    }
    let compare: HTML =
      "<p class=\"soft\">Compare the digits with those at the computer: another computer may say the same name.</p>"
    return "\(table.html(none: "No computer waits."))\(page.computers.isEmpty ? .nothing : compare)"
  }

  private func codeTable(_ codes: [JoinCodePage.Listed], _ visitor: Visitor) -> HTML {
    var table = ConsoleTable(["Code", "For", "Used", "Expires", "Computers", ""])
    for code in codes {
      let act: HTML =
        code.isOver
        ? "\(code.code.revokedAt == nil ? "over" : "revoked")"
        : careful(
          "Revoke", "/joins/\(code.code.id)/revoke", visitor,
          "No computer joins by it any more, and those that wait are refused. Computers that have joined stay.",
          button: "Revoke \(code.code.id)")
      let names = code.joined.prefix(JoinCodePage.shownNames).joined(separator: ", ")
      let kind: HTML = code.code.isUnattended ? " <small>unattended</small>" : .nothing
      let group: HTML = code.code.group.isEmpty ? .nothing : " <small>group \(code.code.group)</small>"
      table.add([
        "<a href=\"\(base)/joins/\(code.code.id)\">\(code.code.id)</a>\(kind)", "\(code.application)\(group)",
        "\(code.code.used) of \(code.code.uses)", code.code.expiresAt.html,
        "\(names)\(code.joined.count > JoinCodePage.shownNames ? " and more" : "")", act,
      ])
    }
    return table.html(none: "No codes yet.")
  }

  func perform(_ act: ConsoleRoute.JoinAct, onJoin id: String, _ visitor: Visitor) async throws -> ServiceReply {
    if act == .revoke {
      guard try await storage.revokeJoinCode(id, at: now) else { return refusal(.unknownJoinCode) }
      core.board.changedJoins()
      return redirect("/joins", done: .codeRevoked)
    }
    let decision = try await storage.decideJoin(id, isApproved: act == .approve, at: now)
    switch decision {
    case .done(let joining):
      core.board.changed(.joining(name: joining.name, mark: joining.mark))
      return redirect("/joins", done: act == .approve ? .joined : .turnedAway)
    case .unknown, .several: return try await joinsPage(visitor, problem: "This computer does not wait any more.")
    case .nameTaken:
      return try await joinsPage(
        visitor, problem: "Another computer has this name by now. Revoke its credential, or refuse this one.")
    case .expired:
      return try await joinsPage(
        visitor, problem: "The code has expired meanwhile. Make another, and refuse this computer.")
    }
  }
}
