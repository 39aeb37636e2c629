import IAMPASSProtocol

// Computers with their own credential.

extension Console {
  /// The computers, sorted by name, in pages.
  func computersSection(_ visitor: Visitor) async throws -> HTML {
    var search = ComputerSearch(text: query("q"))
    if let name = call.target.value("after"), let id = call.target.value("id") { search.after = (name, id) }
    if query("silent") == "on" { search.silentSince = now.advanced(seconds: -86_400) }
    search.isCopied = query("copied") == "on"
    let found = try await storage.computerPage(search, at: now)
    var table = ConsoleTable([
      "Computer", "Application", "Credential", "Group", "Version", "User list", "Last seen", "Live sessions",
      "Held back",
    ])
    for one in found.computers {
      table.add([
        "\(one.credential.host)\(copy(of: one, visitor))",
        "<a href=\"\(base)/application/\(one.credential.application)\">\(one.application)</a>",
        "\(one.credential.name)", groupLink(one.credential.group, of: one.credential.application),
        "\(one.report?.software ?? "–")", list(of: one),
        dated(one.credential.lastUsedAt).html(orElse: "never"),
        "<a href=\"\(base)/sessions?computer=\(PercentEncoding.encode(one.credential.host))\">\(one.liveSessions)</a>",
        "\(one.heldBack)",
      ])
    }
    let note: HTML =
      search.text.isEmpty
      ? .nothing
      : "<span class=\"soft\">(a search looks through \(ComputerSearch.greatestReach) computers, and goes on there)</span>"
    let more: HTML =
      found.further.map { place -> HTML in
        let address = next("/joins", keeping: ["q", "silent", "copied"], [("after", place.name), ("id", place.id)])
        return "<p><a href=\"\(address)\">More computers</a> \(note)</p>"
      } ?? .nothing
    let none = found.further == nil ? "No computer has joined, or none is found." : "None among these computers."
    let choices: HTML = "\(choice("silent", "Silent for a day"))\(choice("copied", "Copied"))"
    return """
      <section aria-labelledby="computers">
      <h2 id="computers">Computers</h2>
      \(searchForm("/joins", [("q", "Name or group", "search")], choices))
      \(table.html(none: none))
      \(more)
      <p class="soft">Held back: requests since yesterday that came while another one was open. A computer whose users are
      in a file of its own tells no version.</p>
      </section>
      """
  }

  private func choice(_ name: String, _ label: String) -> HTML {
    """
    <label class="choice"><input type="checkbox" name="\(name)" value="on"\(query(name) == "on" ? " checked" : "")>
    <span>\(label)</span></label>
    """
  }

  /// The computer's version of the list of users.
  private func list(of one: ComputerSummary) -> HTML {
    guard let report = one.report else { return "–" }
    return report.listVersion == one.listVersion
      ? "\(report.listVersion)" : "\(report.listVersion) of \(one.listVersion)"
  }

  /// Two addresses that use one credential, and the way to forget it.
  private func copy(of one: ComputerSummary, _ visitor: Visitor) -> HTML {
    guard let copy = one.copy else { return .nothing }
    let what = copy.areBothUsed ? "copied: two computers use its credential" : "copied, or its disk was put back"
    return """
       <strong>\(what)</strong>
      <small>\(copy.address ?? "-") and \(copy.otherAddress ?? "-"), since \(dated(copy.firstAt).html(orElse: ""))</small>
      \(careful(
        "Settle", "/application/\(one.credential.application)/credential/\(one.credential.id)/settle", visitor,
        "Give a copy a credential of its own first: iampassctl join. Then forget here what was noticed.",
        button: "Settle \(one.credential.name)"))
      """
  }

  func settleComputer(_ id: String, of application: String, _ visitor: Visitor) async throws -> ServiceReply {
    guard let credential = try await storage.hostCredential(id, of: application) else {
      return refusal(.unknownCredential)
    }
    do {
      let isSettled = try await storage.settleComputer(named: credential.name, of: application, at: now)
      guard isSettled else {
        return try await joinsPage(visitor, problem: "Nothing is noticed of this computer any more.")
      }
      return redirect("/joins", done: .settled)
    } catch is HostCredentialRefusal {
      return refusal(.unknownCredential)
    }
  }
}
