import DeviceProtocol
import IAMPASSProtocol

// Over the rows of any engine.
extension SigningRowsStore {
  func storedSets() async throws -> [StoredAdministratorSet] { try await seeSigning { try $0.sets(after: 0) } }

  func makeFirstSet(
    replacing: Bool, recovery: RecoveryWish, at now: UnixTime
  ) async throws -> FirstSetOutcome {
    try await changeSigning { rows in
      guard try replacing || rows.lastSet() == nil else { return .exists }
      let keys = try SigningWork(rows: rows).keys(after: nil, recovery)
      guard let set = AdministratorSet(number: 1, previous: [], keys: keys) else { return .noPhone }
      if replacing { try rows.forgetSigning() }
      try rows.add(StoredAdministratorSet(set: set, proof: nil, signer: "", madeAt: now))
      return .made(set)
    }
  }

  func namesOfFirstSigners(replacing: Bool) async throws -> Set<String> {
    try await seeSigning { rows in
      guard try replacing || rows.lastSet() == nil else { return [] }
      return Set(try SigningWork(rows: rows).keys(after: nil, .keep).map(\.name))
    }
  }

  func stateOfSigning() async throws -> SigningState { try await seeSigning { try SigningWork(rows: $0).state() } }

  /// Whether documents are signed at all.
  func hasAdministratorSet() async throws -> Bool { try await seeSigning { try $0.lastSet() != nil } }

  func setThatFollows(_ wish: RecoveryWish) async throws -> NextSet? {
    try await seeSigning { rows in
      guard let former = try rows.lastSet()?.set else { return nil }
      let next: AdministratorSet?
      do { next = try SigningWork(rows: rows).nextSet(after: former, wish) } catch is SigningWork.Unfit { return nil }
      return next.map { NextSet(set: $0, changes: SigningWork.changes(from: former, to: $0.keys)) }
    }
  }

  /// A recovery key's signature has no origin: it is on paper, and of no address.
  func keepSet(_ set: AdministratorSet, _ proof: DocumentProof, at now: UnixTime) async throws -> DocumentOutcome? {
    guard case .recovery = proof else { return .notProven }
    return try await changeSigning { rows in
      guard let former = try rows.lastSet()?.set else { return .noSet }
      let check = DocumentCheck(set: former, origin: "", verifier: DeviceVerifier())
      let signer: DocumentSigner
      do { signer = try check.signer(of: .administrators(set), proof) } catch DocumentRefusal.notNext {
        return .outdated
      } catch { return .notProven }
      try rows.add(StoredAdministratorSet(set: set, proof: proof, signer: signer.name, madeAt: now))
      return nil
    }
  }

  // MARK: Orders

  func order(_ order: DocumentOrder, at now: UnixTime) async throws -> String {
    let id = try RandomValue.identifier()
    try await changeSigning { rows in
      try rows.forgetOrders(
        endedBefore: now.advanced(seconds: -StoredOrder.lifetime),
        orderedBefore: now.advanced(seconds: -StoredOrder.greatestAge))
      try rows.add(StoredOrder(id: id, order: order, orderedAt: now))
    }
    return id
  }

  func progress(of id: String) async throws -> DocumentProgress? { try await seeSigning { try $0.order(id)?.progress } }

  /// - Parameters:
  ///   - reason: see ``StoredOrder/reason``.
  ///   - session: nothing is done if the order has another request by now; nil: whichever it has.
  func endOrder(
    _ id: String, _ outcome: DocumentOutcome, because reason: String? = nil, asked session: String? = nil,
    at now: UnixTime
  ) async throws {
    try await changeSigning { rows in
      guard var order = try rows.order(id), order.outcome == nil else { return }
      guard session == nil || order.session == session else { return }
      order.end(outcome, because: reason, at: now)
      try rows.change(order)
      try rows.forgetDraft(of: id)
    }
  }

  /// - Returns: the request that the phone has open.
  func withdraw(_ id: String, at now: UnixTime) async throws -> String? {
    try await endOrder(id, .withdrawn, at: now)
    return try await seeSigning { try $0.order(id)?.session }
  }

  func openOrders() async throws -> OpenOrders { try await seeSigning { try $0.openOrders() } }

  func order(ofSession session: String) async throws -> StoredOrder? {
    try await seeSigning { try $0.order(ofSession: session) }
  }

  /// - Returns: false if the order has ended meanwhile, and nobody waits for an answer.
  func noteSession(_ session: String, of order: String) async throws -> Bool {
    try await changeSigning { rows in
      guard var stored = try rows.order(order), stored.outcome == nil else { return false }
      stored.session = session
      try rows.change(stored)
      return true
    }
  }

  /// Begins the order again, or ends it, if something newer was signed since its document was made: nobody would take the
  /// phone's signature.
  ///
  /// - Returns: whether that was so.
  func overtake(_ id: String, asked session: String, at now: UnixTime) async throws -> Bool {
    let isOvertaken: @Sendable (any SigningRows) throws -> StoredOrder? = { rows in
      guard let order = try rows.order(id), order.outcome == nil, order.session == session else { return nil }
      return try order.isNext(rows) ? nil : order
    }
    // Orders are looked at twice a second. Nearly always nothing is to be written.
    guard try await seeSigning({ try isOvertaken($0) != nil }) else { return false }
    return try await changeSigning { rows in
      guard var order = try isOvertaken(rows) else { return false }
      order.overtaken(at: now)
      try rows.change(order)
      try rows.forgetDraft(of: id)
      return true
    }
  }

  /// Gives an order free that was overtaken. Its former request has ended.
  ///
  /// - Returns: nil if there is nothing to give free.
  func releaseOvertaken(_ id: String) async throws -> StoredOrder? {
    try await changeSigning { rows in
      guard var order = try rows.order(id), order.isOvertaken else { return nil }
      order.takenAt = nil
      try rows.change(order)
      return order
    }
  }

  /// Stores what the phone has signed.
  ///
  /// - Returns: what became of it. An outdated one may be asked for again.
  func keepSigned(_ id: String, asked session: String, at now: UnixTime) async throws -> DocumentOutcome {
    try await changeSigning { rows in
      guard var order = try rows.order(id) else { return .outdated }
      if let outcome = order.outcome { return outcome }
      // Another server has begun it again.
      guard order.session == session else { return .outdated }
      let outcome = try SignedDocumentKeeping(rows: rows, order: order, now: now).keep()
      if outcome == .outdated { order.overtaken(at: now) } else { order.end(outcome, at: now) }
      try rows.change(order)
      try rows.forgetDraft(of: id)
      return outcome
    }
  }
}
