import IAMPASSProtocol

// Makes documents, over the rows of any engine.
extension SigningRowsStore {
  /// Makes the document, unless another service does so already.
  ///
  /// What it is made of is read in a view, beside the writers. It is stored in portions, and made again if something has
  /// changed until then.
  ///
  /// - Returns: what the phone is to be asked; nil if nothing is to be done: the order has then ended, or is another's.
  func draft(_ id: String, at now: UnixTime) async throws -> DocumentDraft? {
    guard let order = try await take(id, at: now) else { return nil }
    do { return try await make(order, at: now) } catch {
      // If this fails too, the order ends after a while, as the order of a service that was stopped.
      try? await giveBack(order)
      throw error
    }
  }

  /// The document of an order whose service was stopped before it noted that the phone is asked.
  ///
  /// - Returns: nil if nothing is to be done, as for ``draft(_:at:)``.
  func storedDraft(_ id: String, at now: UnixTime) async throws -> DocumentDraft? {
    do {
      return try await seeSigning { rows -> DocumentDraft? in
        guard let order = try rows.order(id), order.outcome == nil, order.session == nil,
          let document = try order.signedDocument()
        else { return nil }
        guard let set = try rows.lastSet()?.set else { throw DocumentMaterial.Refusal(outcome: .noSet) }
        let administrator = order.order.administrator
        return DocumentDraft(
          order: id, administrator: administrator, document: document,
          methods: try DocumentMaterial.methods(of: administrator, in: set, rows))
      }
    } catch let refusal as DocumentMaterial.Refusal {
      try await endOrder(id, refusal.outcome, at: now)
      return nil
    }
  }

  private func make(_ order: StoredOrder, at now: UnixTime) async throws -> DocumentDraft? {
    do {
      for _ in 0..<DocumentDraft.greatestTries {
        let material = try await seeSigning { try DocumentMaterial(order, $0) }
        switch try await store(material, of: order) {
        case .stored(let draft): return draft
        case .changed: continue
        case .lost: return nil
        }
      }
      try await endOrder(order.id, .changing, at: now)
    } catch let refusal as DocumentMaterial.Refusal {
      try await endOrder(order.id, refusal.outcome, at: now)
    }
    return nil
  }

  private func take(_ id: String, at now: UnixTime) async throws -> StoredOrder? {
    try await changeSigning { rows in
      guard var order = try rows.order(id), order.takenAt == nil, order.outcome == nil else { return nil }
      order.takenAt = now
      try rows.change(order)
      // Lines of a service that failed.
      try rows.forgetDraft(of: id)
      return order
    }
  }

  private func giveBack(_ taken: StoredOrder) async throws {
    try await changeSigning { rows in
      guard var order = try rows.order(taken.id), order.isBeingMade(as: taken) else { return }
      order.takenAt = nil
      try rows.change(order)
      try rows.forgetDraft(of: taken.id)
    }
  }

  private func store(_ material: DocumentMaterial, of taken: StoredOrder) async throws -> DraftStep {
    var rest = material.lines[...]
    while rest.count > DocumentDraft.portion {
      let portion = Array(rest.prefix(DocumentDraft.portion))
      rest = rest.dropFirst(portion.count)
      let isOurs: Bool = try await changeSigning { rows in
        guard let order = try rows.order(taken.id), order.isBeingMade(as: taken) else { return false }
        for line in portion { try rows.addDraft(line, to: taken.id) }
        return true
      }
      guard isOurs else { return .lost }
    }
    let last = Array(rest)
    return try await changeSigning { rows in
      guard var order = try rows.order(taken.id), order.isBeingMade(as: taken) else { return .lost }
      guard try material.isCurrent(rows) else {
        try rows.forgetDraft(of: taken.id)
        return .changed
      }
      for line in last { try rows.addDraft(line, to: taken.id) }
      let draft = DocumentDraft(
        order: taken.id, administrator: taken.order.administrator, document: try material.document(rows),
        methods: material.methods)
      order.document = draft.text
      try rows.change(order)
      return .stored(draft)
    }
  }
}

/// What became of a document that was read.
private enum DraftStep: Sendable {
  case stored(DocumentDraft)
  /// Something has changed since it was read.
  case changed
  /// The order has ended, or another service has taken it.
  case lost
}

extension StoredOrder {
  /// Whether a service still makes the document: the one that took the order so.
  fileprivate func isBeingMade(as taken: StoredOrder) -> Bool {
    outcome == nil && document == nil && takenAt == taken.takenAt
  }
}
