import IAMPASSProtocol

/// Makes the links with which phones are registered.
struct RegistrationLinks: Sendable {
  struct Made: Sendable {
    let url: String
    /// The number of ended sessions; nil unless they were to be ended.
    let endedSessions: Int64?
  }

  let core: ServiceCore

  /// Makes a link, which is then the user's only valid one, because an older one may be in other hands. Nil for an
  /// unknown user or phone.
  ///
  /// - Parameters:
  ///   - displayName: the user's name on the phone; empty: the name on the lost phone.
  ///   - losing: revokes the user's phones at once.
  ///   - phone: the id of the lost phone; nil: all of them.
  ///   - address: the service's address for phones, with which the link begins.
  func make(
    for name: String, of application: String, displayName: String, losing: PhoneLoss? = nil,
    phone: String? = nil, at address: ServerURL
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
      url: address.route(["register", code.exposedValue]), endedSessions: losing?.countsEnded(among: stored.closed))
  }
}

extension PhoneLoss {
  /// The number of approved sessions that were ended; nil if they were to be kept.
  fileprivate func countsEnded(among closed: [Session]) -> Int64? {
    guard case .endsSessions = self else { return nil }
    return Int64(closed.count { $0.lifecycle.approvedAt != nil && $0.lifecycle.ending == .phoneLost })
  }
}
