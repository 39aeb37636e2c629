import DeviceProtocol
import IAMPASSProtocol

/// The check of what a phone signed. Form, address and time are checked first, so that such refusals do not use the
/// storage.
struct DeviceCheck: Sendable {
  enum Outcome<Value: Sendable>: Sendable {
    case verified(Value)
    case refused(ServiceReply)
  }

  let core: ServiceCore

  private var storage: any ServiceStorage { core.storage }

  /// The claim in the body. It has a valid form and is for this service, but nothing in it is verified.
  struct Claim {
    fileprivate let unverified: UnverifiedStatement
    fileprivate let device: String

    var statement: JSON { unverified.statement }
  }

  /// Reads the claim in the body, without the storage.
  func claim(in call: Call) -> Result<Claim, Refusal> {
    guard let unverified = try? UnverifiedStatement(parsing: call.request.body), let device = unverified.device else {
      return .failure(Refusal(.badRequest))
    }
    guard RandomValue.isIdentifier(device) else { return .failure(Refusal(.unknownDevice)) }
    guard unverified.statement["origin"]?.string == call.address.url.origin else {
      return .failure(Refusal(.wrongOrigin))
    }
    return .success(Claim(unverified: unverified, device: device))
  }

  /// The statement in the body, and the phone that signed it.
  func verify(_ claim: Claim, in call: Call) async throws -> Outcome<VerifiedStatement> {
    let unverified = claim.unverified
    let isProven = core.phoneKeys[claim.device].map(unverified.isMade) ?? false
    if let refusal = core.earlyRefusal(.answer(device: claim.device), call, unless: isProven) {
      return .refused(refusal)
    }
    let found = try await core.unless(isProven, forUnauthenticated: call) { try await storage.phone(claim.device) }
    guard let phone = found else {
      return .refused(.refused(.unknownDevice))
    }
    guard let key = try? DevicePublicKey(phone.publicKey) else { return .refused(.refused(.signatureRefused)) }
    core.phoneKeys.keep(key, as: phone.id)
    guard unverified.isMade(by: key) else { return .refused(.refused(.signatureRefused)) }
    // Only the holder of the key gets this reason, so that the phone can show it to its user.
    guard !phone.isCutOff, let user = phone.user else { return .refused(.refused(.deviceCutOff)) }
    call.request.onProof()
    return .verified(
      VerifiedStatement(
        phone: phone, user: user, statement: unverified.statement, signature: unverified.signature,
        assertion: unverified.assertion))
  }

  /// The phone's verified ask. When this returns `verified`, the nonce is used, even if the service is then killed.
  func ask(in call: Call, purposes: Set<DevicePurpose>) async throws -> Outcome<(VerifiedStatement, DeviceAsk)> {
    let claim: Claim
    switch self.claim(in: call) {
    case .failure(let refusal): return .refused(refusal.reply)
    case .success(let found): claim = found
    }
    guard let ask = try? DeviceAsk(claim.statement), purposes.contains(ask.purpose),
      (1...64).contains(ask.nonce.utf8.count)
    else { return .refused(.refused(.badRequest)) }
    let wall = storage.clock.wall().seconds
    let window = RequestSigner.clockWindow
    guard (wall - window...wall + window).contains(ask.timestamp) else {
      return .refused(.refused(.timestampOutsideWindow))
    }
    switch try await verify(claim, in: call) {
    case .refused(let reply): return .refused(reply)
    case .verified(let verified):
      let now = storage.now()
      let nonce = SignedNonce(
        owner: "phone:" + verified.phone.id, value: ask.nonce,
        forgetAt: UnixTime(seconds: ask.timestamp + SignedNonce.lifetime))
      let isNew = try await storage.useNonce(nonce, at: now)
      return isNew ? .verified((verified, ask)) : .refused(.refused(.nonceReplayed))
    }
  }
}
