import IAMPASSProtocol

/// The reply to a computer that asks for the audit of its own sign-ins.
struct HostAuditReplies: Sendable {
  let core: ServiceCore

  func reply(to signInClient: SignInClient, _ call: Call) async throws -> ServiceReply {
    // Several computers may share the application's credential, and must not read about each other.
    guard let credential = signInClient.credential else { return .refused(.hostCredentialRequired) }
    guard let since = number("since", call, orElse: 0), since <= Int64.max / 1_000,
      let before = number("before", call, orElse: .max)
    else { return .refused(.badRequest) }
    let ask = HostAuditQuery(credential: credential.id, since: since * 1_000, before: before)
    return ServiceReply(200, ask.page(of: try await core.storage.auditEntries(ask)).encoded())
  }

  /// Nil if the value is not a valid number.
  private func number(_ name: String, _ call: Call, orElse usual: Int64) -> Int64? {
    guard call.target.has(name) else { return usual }
    return call.target.value(name).flatMap { Int64($0) }.flatMap { $0 >= 0 ? $0 : nil }
  }
}
