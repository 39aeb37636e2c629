extension PresenceBySilence {
  /// Browsers send these headers with each request, and a page cannot prevent it.
  static func isBrowser(_ request: ServiceRequest) -> Bool {
    !request.values(of: ["Sec-Fetch-Site", "Sec-Fetch-Mode", "Origin"]).isEmpty
  }
}

extension ServiceCore {
  /// Notes a verified message of a phone.
  ///
  /// - Parameter isAsking: whether it asks for its requests, which begins the counting of silence.
  func markSeen(_ phone: Phone, _ call: Call, isAsking: Bool = false) async throws {
    guard !PresenceBySilence.isBrowser(call.request) else { return }
    guard let wasSilent = try await storage.wasSilent(phone, isAsking: isAsking) else { return }
    // A lost note does no harm: the phone asks again, or the count begins again after a restart.
    announceMoves(of: try await storage.markSeen(phone, wasSilent: wasSilent, at: clock()))
  }
}
