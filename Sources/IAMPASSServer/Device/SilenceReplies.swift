extension PresenceBySilence {
  /// Browsers send these headers with each request, and a page cannot prevent it.
  static func isBrowser(_ request: ServiceRequest) -> Bool {
    !request.values(of: ["Sec-Fetch-Site", "Sec-Fetch-Mode", "Origin"]).isEmpty
  }
}

extension ServiceCore {
  /// Notes a proven, unrepeated message of a phone.
  ///
  /// - Parameter isAsking: for its requests, with which counting begins.
  func heard(_ phone: Phone, _ call: Call, isAsking: Bool = false) async throws {
    guard !PresenceBySilence.isBrowser(call.request) else { return }
    let wasSilent = try await storage.read { try PresenceBySilence.wasSilent(phone, isAsking: isAsking, in: $0) }
    guard let wasSilent else { return }
    let now = clock()
    let hear = { @Sendable db in try PresenceBySilence.hear(phone, at: now, in: db) }
    // A lost time does no harm: the phone is heard again, or the count starts over after a restart.
    announceMoves(of: try await wasSilent ? storage.write(hear) : storage.note(hear))
  }
}

extension SignInService {
  func leaveForSilence(at now: UnixTime) async throws {
    let last = lastLook.value
    let (look, changed) = try await storage.write { db in
      let look = try PresenceBySilence.Look(at: now, in: db)
      try PresenceBySilence.beginToListen(look, since: last, in: db)
      return (look, try PresenceBySilence.leave(at: now, in: db))
    }
    // Only after it is stored: a failed look did not listen.
    lastLook.remember(look)
    core.announceMoves(of: changed)
  }
}
