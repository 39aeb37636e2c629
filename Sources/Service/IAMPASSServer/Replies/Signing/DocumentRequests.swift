import DeviceProtocol
import IAMPASSProtocol

/// Has administrators' phones sign documents: takes orders, asks the phones, and keeps what they sign.
struct DocumentRequests: Sendable {
  /// Seconds that a signature waits until it is taken.
  private static let duration: Int64 = 60

  let core: ServiceCore
  let sessions: SessionReplies
  /// The service's address, for push services' operators.
  let contact: String

  private var storage: any ServiceStorage { core.storage }

  /// Goes on with every order that has not ended. One that fails is tried again after a pause, and keeps no other waiting;
  /// nor does one that cannot be read.
  ///
  /// - Throws: the first failure, after all orders.
  func attend() async throws {
    let open = try await storage.openOrders()
    core.tell(unreadableOrders: Set(open.unreadable))
    core.orderFailures.keep(open.orders.map(\.id))
    var failure: (any Error)?
    for order in open.orders where core.orderFailures.isDue(order.id, at: core.clock()) {
      do { try await tryToAttend(to: order) } catch { failure = failure ?? error }
    }
    if let failure { throw failure }
  }

  /// Goes on with an order, and ends it if it has failed too often.
  private func tryToAttend(to order: StoredOrder) async throws {
    do { try await attend(to: order) } catch {
      // The service stops, or the client has gone: the order itself has not failed.
      if !(error is CancellationError) { await noteFailure(of: order, error) }
      throw error
    }
    core.orderFailures.forget(order.id)
  }

  /// If the order cannot be ended either, that is tried after the next pause.
  private func noteFailure(of order: StoredOrder, _ error: any Error) async {
    let now = core.clock()
    guard core.orderFailures.note(order.id, at: now) >= OrderFailures.greatestCount else { return }
    let (problem, hint) = (DisplayText.sanitized("\(error)"), storage.trouble(behind: error).hint)
    do {
      try await storage.endOrder(order.id, .failed, because: "\(problem); \(hint)", at: now)
    } catch { return core.tell(storageFailure: error) }
    core.logger.error(
      "an administrator's signature was given up after failures",
      metadata: [
        "administrator": "\(order.order.administrator)", "document": "\(order.kind)",
        "failures": "\(OrderFailures.greatestCount)", "error": "\(problem)",
        "hint": "\(hint); then have it signed again",
      ])
    guard let session = order.session else { return }
    do { _ = try await sessions.logOut(session) } catch { core.tell(storageFailure: error) }
  }

  /// Goes on with the order of this request.
  func attend(toSession session: String) async throws {
    guard let order = try await storage.order(ofSession: session), order.outcome == nil else { return }
    try await tryToAttend(to: order)
  }

  /// Orders a signature and asks the phone at once.
  ///
  /// - Returns: how far that came.
  func ask(for order: DocumentOrder) async throws -> DocumentProgress {
    let id = try await storage.order(order, at: core.clock())
    if let stored = try await storage.openOrders().orders.first(where: { $0.id == id }) {
      try await tryToAttend(to: stored)
    }
    return try await storage.progress(of: id) ?? .ended(.withdrawn)
  }

  private func attend(to order: StoredOrder) async throws {
    let now = core.clock()
    if let session = order.session { return try await settle(order, session, at: now) }
    if let takenAt = order.takenAt {
      // Whoever took it was stopped.
      guard now < takenAt.advanced(seconds: StoredOrder.patience) else {
        return try await storage.endOrder(order.id, .notAsked, at: now)
      }
      guard order.document != nil, now >= takenAt.advanced(seconds: StoredOrder.resumption),
        let draft = try await storage.storedDraft(order.id, at: now)
      else { return }
      return try await ask(draft, at: now)
    }
    guard now < order.orderedAt.advanced(seconds: StoredOrder.greatestDelay) else {
      return try await storage.endOrder(order.id, .notAsked, at: now)
    }
    guard let draft = try await storage.draft(order.id, at: now) else { return }
    try await ask(draft, at: now)
  }

  /// Asks the phone, unless it was asked for this document of the order before.
  private func ask(_ draft: DocumentDraft, at now: UnixTime) async throws {
    guard let own = try await storage.administratorsApplication(),
      let application = try await storage.application(own)
    else { return try await storage.endOrder(draft.order, .notSigner, at: now) }
    var named = SessionStartRequest(
      user: draft.administrator, signInClient: SignInClient(application: application, credential: nil),
      client: .unknown,
      methods: draft.methods, duration: Self.duration, context: draft.document.context, hasContext: true,
      challenge: draft.document.challenge, matchCode: nil, boot: nil)
    named.name = draft.startName
    let ask = named
    let start = try await storage.start(ask, at: now) { record in
      StartPolicy.decide(ask, try StartFacts(record, ask, at: now), at: now)
    }
    core.announceEnd(of: start.ended)
    switch start.outcome {
    case .started(let session, _), .begun(let session, _):
      guard try await storage.noteSession(session.id, of: draft.order) else {
        _ = try await sessions.logOut(session.id)
        return
      }
      sessions.announce(session, contact: contact)
    case .not(.openRequest): try await storage.endOrder(draft.order, .busy, at: now)
    case .not: try await storage.endOrder(draft.order, .notAsked, at: now)
    }
  }

  private func settle(_ order: StoredOrder, _ id: String, at now: UnixTime) async throws {
    guard let session = try await sessions.settled(id, at: now)?.session else {
      return try await storage.endOrder(order.id, .notAnswered, asked: id, at: now)
    }
    if session.lifecycle.isUnanswered {
      guard try await storage.overtake(order.id, asked: id, at: now) else { return }
      return try await goOn(with: order, after: id)
    }
    guard session.lifecycle.approvedAt != nil else {
      let outcome: DocumentOutcome = session.lifecycle.ending == .notAnswered ? .notAnswered : .denied
      return try await storage.endOrder(order.id, outcome, asked: id, at: now)
    }
    let outcome = try await storage.keepSigned(order.id, asked: id, at: now)
    tell(outcome, order, session)
    try await goOn(with: order, after: id)
    guard outcome == .signed else { return }
    // Each list is told with the sets of administrators.
    if let application = order.application {
      core.board.changed(.userList(application))
    } else {
      core.board.changedUserLists()
    }
  }

  /// Ends the request, so that nothing stays signed in by it, and asks again if the order was overtaken.
  private func goOn(with order: StoredOrder, after session: String) async throws {
    _ = try await sessions.logOut(session)
    if let next = try await storage.releaseOvertaken(order.id) { try await attend(to: next) }
  }

  private func tell(_ outcome: DocumentOutcome, _ order: StoredOrder, _ session: Session) {
    let isSigned = outcome == .signed
    core.logger.log(
      level: isSigned ? .notice : .warning,
      isSigned ? "an administrator's phone signed a document" : "an administrator's signature was not taken",
      metadata: [
        "administrator": "\(order.order.administrator)", "document": "\(order.kind)", "session": "\(session.id)",
        "outcome": "\(outcome.rawValue)",
      ])
  }
}

extension SessionReplies {
  /// Tells phones of a request that no client made.
  func announce(_ session: Session, contact: String) {
    core.audit.started(session)
    core.announceChange(of: session)
    pushes.ring(for: session, contact: contact)
  }
}

extension Session {
  /// The document that its phone is asked to sign; nil for a sign-in. Only the service itself makes such requests.
  var document: SignedDocument.Kind? {
    SignedDocument.isAsked(by: context) ? context.host.flatMap(SignedDocument.Kind.init(rawValue:)) : nil
  }
}
