import IAMPASSProtocol

/// The list of users for a computer: at once if it has an older one, otherwise held until it changes.
struct UserListReplies: Sendable {
  let core: ServiceCore

  /// - Parameter client: who signed the request.
  func reply(to signInClient: SignInClient, _ client: VerifiedClient, _ call: Call) async throws -> ServiceReply {
    guard let since = number("version", call), let after = text("after", call) else {
      return .refused(.badRequest)
    }
    guard try await noteMark(of: signInClient, client, call), noteReport(of: signInClient, has: since, call) else {
      return .refused(.badRequest)
    }
    if call.target.has("signed") { return try await signedReply(to: signInClient, has: since, after: after, call) }
    let ask = UserListQuery(
      requester: signInClient.credential?.id ?? signInClient.application.id, application: signInClient.application.id,
      group: signInClient.credential?.group ?? "", since: since, after: after)
    return try await held(ofFirstPage: after.isEmpty, signInClient, call) {
      let view = try await core.userLists.page(ask)
      // Whoever has a newer list than this service is told so at once.
      let isNews = view.page.version != since || since == 0
      return (ServiceReply(200, view.page.encoded()).marked(view.mark), isNews: isNews)
    }
  }

  /// The list that an administrator's phone signed, for a computer that takes no other.
  private func signedReply(
    to signInClient: SignInClient, has number: Int64, after: String, _ call: Call
  ) async throws -> ServiceReply {
    guard call.target.value("signed") == "1", let epoch = self.number("epoch", call),
      let setNumber = self.number("administrators", call)
    else { return .refused(.badRequest) }
    let ask = SignedListQuery(
      requester: signInClient.credential?.id ?? signInClient.application.id, application: signInClient.application.id,
      group: signInClient.credential?.group ?? "", epoch: epoch, number: number, setNumber: setNumber, after: after)
    // Whoever fetches a list, or waits for one, does not ask how it stands.
    let waits = call.request.preferredWait(longest: HeldReply.usualWait) != nil
    let saysUnsigned = after.isEmpty && number > 0 && !waits
    return try await held(ofFirstPage: after.isEmpty, signInClient, call) {
      let view = try await core.userLists.page(ask)
      var page = view.page
      if saysUnsigned { page.unsigned = try await core.unsignedChanges(of: ask.application) }
      return (ServiceReply(200, page.encoded()).marked(view.mark), isNews: page.isNews)
    }
  }

  /// The reply once it has news, or the computer's wait is over.
  private func held(
    ofFirstPage mayWait: Bool, _ signInClient: SignInClient, _ call: Call,
    _ page: @escaping @Sendable () async throws -> (reply: ServiceReply, isNews: Bool)
  ) async throws -> ServiceReply {
    let wait = mayWait ? call.request.preferredWait(longest: HeldReply.usualWait) : nil
    let end = core.clock().advanced(seconds: wait ?? 0)
    let watch = core.board.watch(.userList(signInClient.application.id))
    if wait != nil { call.request.onDeparture { [weak watch] in watch?.abandon() } }
    let poll: HeldReply.Poll = { isLast in
      let (reply, isNews) = try await page()
      let patience = end.milliseconds(since: core.clock())
      if !isNews, !isLast, patience > 0 { return .nothingYet(milliseconds: patience) }
      // Asked once the page is read: what was revoked before that gets no page.
      if wait != nil, let refusal = try await core.refusal(ofHeld: signInClient) { return .reply(refusal) }
      return .reply(wait.map { reply.adding("Preference-Applied", "wait=\($0)") } ?? reply)
    }
    switch try await poll(false) {
    case .reply(let reply): return reply
    case .nothingYet(let patience): return ServiceReply(holding: HeldReply(watch, patience: patience, poll: poll))
    }
  }

  /// Notes which computer asks, if it tells.
  ///
  /// - Returns: false if what is told is not a mark.
  private func noteMark(
    of signInClient: SignInClient, _ client: VerifiedClient, _ call: Call
  ) async throws -> Bool {
    guard let mark = text("mark", call), let former = text("former_mark", call) else { return false }
    guard !mark.isEmpty else { return former.isEmpty }
    guard ComputerMarkSighting.isMark(mark), former.isEmpty || ComputerMarkSighting.isMark(former) else { return false }
    guard let credential = signInClient.credential else { return true }
    let sighting = ComputerMarkSighting(
      credential: credential.id, mark: mark, former: former.isEmpty ? nil : former, address: call.client.text,
      signedAt: client.signedAt, at: core.clock())
    guard case .forked(isNews: true) = try await core.marks.record(sighting) else { return true }
    core.logger.warning(
      "a computer was copied, or its disk was put back",
      metadata: [
        "credential": "\(credential.name)", "host": "\(credential.host)", "address": "\(call.client.text)",
        "hint": "iampass-server computer list; give a copy a credential of its own by iampassctl join",
      ])
    return true
  }

  /// Notes what the computer says of itself, if it tells.
  ///
  /// - Returns: false if what is told is not a version.
  private func noteReport(of signInClient: SignInClient, has version: Int64, _ call: Call) -> Bool {
    guard let software = text("software", call), HostReport.isSoftware(software) else { return false }
    guard let credential = signInClient.credential, !software.isEmpty else { return true }
    let epoch = call.target.has("signed") ? number("epoch", call) ?? 0 : nil
    core.reports.note(
      HostReport(credential: credential.id, software: software, listVersion: version, listEpoch: epoch))
    return true
  }

  /// 0 if it is not given; nil if it is not a version.
  private func number(_ name: String, _ call: Call) -> Int64? {
    guard call.target.has(name) else { return 0 }
    return call.target.value(name).flatMap { Int64($0) }.flatMap { $0 >= 0 ? $0 : nil }
  }

  /// Empty if it is not given; nil if it is given twice.
  private func text(_ name: String, _ call: Call) -> String? {
    call.target.has(name) ? call.target.value(name) : ""
  }
}
