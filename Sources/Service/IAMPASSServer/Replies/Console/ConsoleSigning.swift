import IAMPASSProtocol

// Signed lists and sets, and unsigned changes.

extension Console {
  private static let shownChanges = 50

  /// The front page's section: empty if there are no unsigned changes.
  func signingSection() async throws -> HTML {
    let state = try await core.signingState()
    guard state.set != nil, !state.isSigned else { return .nothing }
    var lines: [HTML] = []
    if !state.setChanges.isEmpty {
      let path = base + "/administrators#signing"
      let text = count(state.setChanges.count, since: state.setUnsignedSince) + failure(ofSet: state.failed)
      lines.append("<li><a href=\"\(path)\">Administrators</a>: \(text)</li>")
    }
    for list in state.lists where !list.isSigned {
      let path = base + "/application/\(list.application)#signing"
      let text = words(list) + failure(of: list.application, state.failed)
      lines.append("<li><a href=\"\(path)\">\(list.name)</a>: \(text)</li>")
    }
    return """
      <section aria-labelledby="signing">
      <h2 id="signing">Not signed</h2>
      <p class="problem">Computers that have joined with administrators' keys do not take these changes.</p>
      <ul>\(lines)</ul>
      </section>
      """
  }

  /// A part of one application's page.
  func signingSection(of application: String, _ visitor: Visitor) async throws -> HTML {
    let state = try await core.signingState()
    guard let list = state.lists.first(where: { $0.application == application }) else { return .nothing }
    let signed: HTML =
      list.head.map { head -> HTML in
        "<p>Version \(head.epoch).\(head.number), signed by \(list.signer) \(dated(list.signedAt).html(orElse: "")).</p>"
      } ?? .nothing
    let changes: HTML =
      list.isSigned
      ? "<p>Everything is signed.</p>"
      : """
      <p class="problem">\(words(list))\(failure(of: application, state.failed))</p>
      \(listed(list.changes.map(\.text)))
      \(button("/application/\(application)/sign", visitor))
      """
    return """
      <section aria-labelledby="signing">
      <h2 id="signing">Signatures</h2>
      <p class="soft">Computers that have joined with administrators' keys take only what an administrator's phone has
      signed.</p>
      \(signed)
      \(changes)
      </section>
      """
  }

  /// A part of the administrators' page.
  func administratorSigningSection(_ visitor: Visitor) async throws -> HTML {
    let state = try await core.signingState()
    guard let set = state.set else {
      return """
        <section aria-labelledby="signing">
        <h2 id="signing">Signatures</h2>
        <p>No lists of users are signed here. On the service's computer:</p>
        <pre>iampass-server administrator start-signing</pre>
        </section>
        """
    }
    var table = ConsoleTable(["Whose", "Kind", "Words of the key"])
    for key in set.keys {
      switch key {
      case .phone(let name, let phone): table.add(["\(name)", "phone", "\(phone.keys.words)"])
      case .recovery(let name, let key):
        table.add(["\(name)", "on paper", "\(PhoneKeys(publicKey: key.text, credential: nil).words)"])
      }
    }
    let words = count(state.setChanges.count, since: state.setUnsignedSince) + failure(ofSet: state.failed)
    let changes: HTML =
      state.setChanges.isEmpty
      ? .nothing
      : """
      <p class="problem">\(words)</p>
      \(listed(state.setChanges))
      \(button("/administrators/sign", visitor))
      """
    return """
      <section aria-labelledby="signing">
      <h2 id="signing">Keys that sign lists of users</h2>
      <p class="soft">Set number \(set.number). A key of this set signs the next one.</p>
      \(table.html(none: ""))
      \(changes)
      </section>
      """
  }

  private func count(_ number: Int, since: UnixTime?) -> String {
    "\(number) \(number == 1 ? "change is" : "changes are") not signed yet\(SigningState.words(since: since, at: now))."
  }

  /// Sentences after others; empty if it has not failed.
  private func failure(_ hasFailed: Bool, _ reason: String?) -> String {
    guard hasFailed else { return "" }
    return " " + SigningState.failureText + (reason.map { " The last failure: \($0)." } ?? "")
  }

  private func failure(ofSet failed: FailedSignatures) -> String { failure(failed.isSetConcerned, failed.setReason) }

  private func failure(of application: String, _ failed: FailedSignatures) -> String {
    failure(failed.applications.contains(application), failed.reasons[application])
  }

  private func words(_ list: SigningState.List) -> String {
    if list.head == nil { return "No list was signed yet." }
    if list.isOfOtherEpoch { return "The list was not signed since the database was put back." }
    if list.isSignerGone {
      return "Who signed the list is not among the administrators any more, or these changed too often since."
    }
    return count(list.changes.count, since: list.unsignedSince)
  }

  private func listed(_ lines: [String]) -> HTML {
    let shown = lines.prefix(Self.shownChanges).map { line -> HTML in "<li>\(line)</li>" }
    let further = lines.count - Self.shownChanges
    let rest: HTML = further > 0 ? "<p class=\"soft\">And \(further) more.</p>" : .nothing
    return "<ul>\(shown)</ul>\(rest)"
  }

  private func button(_ path: String, _ visitor: Visitor) -> HTML {
    guard visitor.administrator != nil else {
      return "<p>An administrator who has signed in by phone can have them signed here.</p>"
    }
    return form(path, visitor, "<button>Have my phone sign this</button>")
  }

  // MARK: Acts

  func signUsers(of application: String, _ visitor: Visitor) async throws -> ServiceReply {
    let outcome = try await sign(.users(application: application), visitor)
    guard let outcome else { return redirect("/application/\(application)", done: .signatureAsked) }
    return try await applicationPage(application, visitor, problem: outcome.consoleText)
  }

  func signAdministrators(_ visitor: Visitor) async throws -> ServiceReply {
    let outcome = try await sign(.administrators(.keep), visitor)
    guard let outcome else { return redirect("/administrators", done: .signatureAsked) }
    return try await administratorsPage(visitor, problem: outcome.consoleText)
  }

  /// - Returns: nil if the phone was asked.
  private func sign(_ subject: DocumentOrder.Subject, _ visitor: Visitor) async throws -> DocumentOutcome? {
    guard let name = visitor.administrator?.name else { return .notSigner }
    let documents = DocumentRequests(core: core, sessions: sessions, contact: publicAddress.origin)
    guard case .ended(let outcome) = try await documents.ask(for: DocumentOrder(subject, by: name)) else { return nil }
    return outcome
  }
}

extension DocumentOutcome {
  fileprivate var consoleText: String {
    switch self {
    case .signed, .nothing: "Everything is signed already."
    case .noSet: "No lists are signed here: iampass-server administrator start-signing begins that."
    case .notSigner: "Your phone is not among those that sign. Another administrator takes it in with the next set."
    case .unfit: "Computers would not take this: too many groups, users or keys, or no administrator with a phone."
    case .busy: "Your phone has a request of this kind open. Answer it first."
    case .notAsked: "Your phone cannot be asked now. The audit says why."
    case .denied: "Your phone denied it."
    case .notAnswered, .withdrawn: "Your phone did not answer in time."
    case .notProven: "What your phone sent is not taken for a signature. Reload its page, or update the app."
    case .outdated: "Something newer was signed meanwhile."
    case .failed: SigningState.failureText
    case .changing: "The list changes all the time. Have it signed once that is over."
    }
  }
}
