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
    guard let wasSilent = try await storage.wasSilent(phone, isAsking: isAsking) else { return }
    // A lost time does no harm: the phone is heard again, or the count starts over after a restart.
    announceMoves(of: try await storage.hear(phone, wasSilent: wasSilent, at: clock()))
  }
}
