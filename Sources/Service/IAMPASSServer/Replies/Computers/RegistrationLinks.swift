import IAMPASSProtocol

/// Makes the links with which phones are registered.
struct RegistrationLinks: Sendable {
  struct Made: Sendable {
    let url: String
    /// Nil unless the loss of the phone was to end them.
    let endedSessions: Int64?
  }

  let core: ServiceCore

  /// A new link, the user's only one that works: an older one may be in somebody else's hands. Nil for
  /// an unknown user or phone.
  ///
  /// - Parameters:
  ///   - displayName: what the phone shows for the user; empty: what a lost phone showed.
  ///   - losing: cuts the user's phones off at once.
  ///   - phone: the id of the one that is lost; nil: all of them.
  func make(
    for name: String, of application: String, displayName: String, losing: PhoneLoss? = nil,
    phone: String? = nil, at address: PublicAddress
  ) async throws -> Made? {
    let code = Secret(try RandomValue.identifier())
    let order = LinkOrder(
      code: code, user: name, application: application, displayName: DisplayText.sanitized(displayName, limit: 100),
      loss: losing, lostPhone: losing == nil ? nil : phone)
    guard let stored = try await core.storage.makeLink(order, at: core.clock()) else { return nil }
    for phone in stored.cutOff { core.audit.cutOff(phone: phone, user: stored.user) }
    core.announceEnd(of: stored.closed)
    if losing != nil { core.board.changed(.user(stored.user)) }
    return Made(
      url: address.url.route(["register", code.exposedValue]), endedSessions: losing?.countsEnded(among: stored.closed))
  }
}

extension PhoneLoss {
  /// How many approved sessions this ended; nil if it was to keep them.
  fileprivate func countsEnded(among closed: [Session]) -> Int64? {
    guard case .endsSessions = self else { return nil }
    return Int64(closed.count { $0.lifecycle.approvedAt != nil && $0.lifecycle.ending == .phoneLost })
  }
}
