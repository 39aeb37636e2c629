import DeviceProtocol
import GRDB
import IAMPASSProtocol

extension Service {
  /// The public key that a browser needs to subscribe.
  func pushKey() async throws -> ServiceReply {
    let token = try await storage.read { try PushBook.token(in: $0) }
    return ServiceReply(200, PushKeyReply(key: Base64URL.encode(try token.key.publicKey.point)).encoded())
  }

  /// Sets how the phone is rung from now on, or that it is not rung.
  func subscribe(_ call: Call) async throws -> ServiceReply {
    let verified: VerifiedStatement
    switch try await deviceCheck.ask(in: call, purposes: [.push]) {
    case .refused(let reply): return reply
    case .verified(let (statement, _)): verified = statement
    }
    guard let statement = try? PushStatement(verified.statement) else { return .refused(400, .badRequest) }
    if let received = statement.subscription {
      guard let subscription = PushSubscription(received), pushes.trust.allows(subscription) else {
        return .refused(400, .badSubscription)
      }
    }
    let isLive = try await storage.write { db in
      guard try Phone.live(of: verified.user, in: db)?.id == verified.phone.id else { return false }
      try PushBook.keep(statement.subscription, of: verified.phone.id, in: db)
      return true
    }
    return isLive ? .done : .refused(403, .deviceCutOff)
  }
}
