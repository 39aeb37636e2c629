import IAMPASSProtocol

// The front page: what an administrator should look at.

extension Console {
  /// How long a computer must be silent before it is listed as silent, in seconds.
  private static let silence: Int64 = 86_400
  /// Days before a certificate's end from which the page warns.
  private static let warningDays: Int64 = 30
  private static let shownRefusals = 8

  func overviewPage(_ visitor: Visitor) async throws -> ServiceReply {
    let today = storage.clock.wall().day
    let counts = try await storage.signInCounts(since: today - ConsoleChart.length + 1)
    let refusals = try await storage.auditEntries(
      matching: AuditFilter(result: .denied), before: nil, limit: Self.shownRefusals)
    let silent = try await storage.computers(
      ComputerSearch(silentSince: now.advanced(seconds: -Self.silence)), at: now)
    let unsigned = try await signingSection()
    let content: HTML = """
      \(unsigned)
      <section aria-labelledby="sign-ins">
      <h2 id="sign-ins">Sign-ins</h2>
      \(ConsoleChart(counts, today: today).html)
      </section>
      <section aria-labelledby="refusals">
      <h2 id="refusals">Newest refusals</h2>
      \(refusalTable(refusals.entries))
      <p><a href="\(base)/audit?result=denied">All refusals</a></p>
      </section>
      <section aria-labelledby="silent">
      <h2 id="silent">Silent computers</h2>
      <p class="soft">Their credential was not used for a day. A computer that is switched off is silent, too.</p>
      \(silentTable(silent))
      <p><a href="\(base)/joins?silent=on">All silent computers</a></p>
      </section>
      <section aria-labelledby="certificate">
      <h2 id="certificate">Certificate</h2>
      \(certificateWords)
      </section>
      """
    return show("Overview", content, visitor: visitor)
  }

  private func refusalTable(_ entries: [AuditEntry]) -> HTML {
    var table = ConsoleTable(["When", "Who", "Where", "From", "Reason"])
    for entry in entries {
      func words(_ names: [String]) -> HTML { self.words(names, of: entry) }
      table.add([
        entry.at.html, words(["phone", "account"]), words(["host", "service"]), words(["remote_host", "address"]),
        "\(shown([reason(of: entry)]).joined())",
      ])
    }
    return table.html(none: "Nobody denied a request lately.")
  }

  private func silentTable(_ computers: [ComputerSummary]) -> HTML {
    var table = ConsoleTable(["Computer", "Application", "Last seen"])
    for one in computers.prefix(Self.shownRefusals) {
      table.add([
        "\(one.credential.host)", "\(one.application)", dated(one.credential.lastUsedAt).html(orElse: "never"),
      ])
    }
    return table.html(none: "No computer is silent.")
  }

  private var certificateWords: HTML {
    guard let end = certificateEnd() else {
      return "<p>The service does not know the certificate that browsers see: a proxy shows it.</p>"
    }
    let days = end.milliseconds(since: storage.clock.wall()) / UnixTime.millisecondsOfDay
    let words: HTML = "The service's certificate ends \(end.html), in \(max(0, days)) days."
    return days < Self.warningDays ? "<p class=\"problem\">\(words)</p>" : "<p>\(words)</p>"
  }
}
