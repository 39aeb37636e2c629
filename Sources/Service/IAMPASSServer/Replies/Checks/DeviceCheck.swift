import DeviceProtocol
import IAMPASSProtocol

/// The check of what a phone signed.
struct DeviceCheck: Sendable {
  enum Outcome<Value: Sendable>: Sendable {
    case verified(Value)
    case refused(ServiceReply)
  }

  let storage: any ServiceStorage

  /// The statement in the body, and the phone that signed it.
  func statement(in call: Call) async throws -> Outcome<VerifiedStatement> {
    guard let unverified = try? UnverifiedStatement(parsing: call.request.body), let id = unverified.device else {
      return .refused(.refused(.badRequest))
    }
    guard let phone = try await storage.phone(id) else {
      return .refused(.refused(.unknownDevice))
    }
    guard let key = try? DevicePublicKey(phone.publicKey), unverified.isMade(by: key) else {
      return .refused(.refused(.signatureRefused))
    }
    // Only the holder of the key is told: the phone can tell its user.
    guard !phone.isCutOff, let user = phone.user else { return .refused(.refused(.deviceCutOff)) }
    guard unverified.statement["origin"]?.string == call.address.url.origin else {
      return .refused(.refused(.wrongOrigin))
    }
    call.request.onProof()
    return .verified(
      VerifiedStatement(
        phone: phone, user: user, statement: unverified.statement, signature: unverified.signature,
        assertion: unverified.assertion))
  }

  /// What the phone asks for. When this returns `verified`, the nonce is spent, even if the service is killed then.
  func ask(in call: Call, purposes: Set<DevicePurpose>) async throws -> Outcome<(VerifiedStatement, DeviceAsk)> {
    switch try await statement(in: call) {
    case .refused(let reply): return .refused(reply)
    case .verified(let verified):
      guard let ask = try? DeviceAsk(verified.statement), purposes.contains(ask.purpose),
        (1...64).contains(ask.nonce.utf8.count)
      else { return .refused(.refused(.badRequest)) }
      let wall = storage.clock.wall().seconds
      let window = RequestSigner.clockWindow
      guard (wall - window...wall + window).contains(ask.timestamp) else {
        return .refused(.refused(.timestampOutsideWindow))
      }
      let now = storage.now()
      let nonce = SignedNonce(
        owner: "phone:" + verified.phone.id, value: ask.nonce,
        forgetAt: UnixTime(seconds: ask.timestamp + SignedNonce.lifetime))
      let isNew = try await storage.spend(nonce, at: now)
      return isNew ? .verified((verified, ask)) : .refused(.refused(.nonceReplayed))
    }
  }
}
