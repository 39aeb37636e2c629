import DeviceProtocol
import GRDB
import IAMPASSProtocol

/// A phone's signed words, proven: they are this live phone's, and meant for this service.
struct VerifiedStatement: Sendable {
  /// As it was when last read.
  var phone: Phone
  let user: Int64
  let statement: JSON
  let signature: String
  /// Beside the statement: this is the authenticator's word, which is checked for itself.
  let assertion: UnverifiedAssertion?
}

/// Why what a phone asked for changes nothing.
struct DeviceRefusal: Error {
  static let cutOff = DeviceRefusal(status: 403, reason: .deviceCutOff)

  let status: Int
  let reason: Reason
  /// What an authenticator's word lacks; for the log.
  var detail: CredentialRefusal?

  var reply: ServiceReply { .refused(status, reason) }
}

/// The check of what a phone signed.
struct DeviceCheck: Sendable {
  enum Outcome<Value: Sendable>: Sendable {
    case verified(Value)
    case refused(ServiceReply)
  }

  let storage: Storage

  /// Whose statement the body is.
  func statement(in call: Call) async throws -> Outcome<VerifiedStatement> {
    guard let unverified = try? UnverifiedStatement(parsing: call.request.body), let id = unverified.device else {
      return .refused(.refused(400, .badRequest))
    }
    guard let phone = try await storage.read({ try Phone.find(id, in: $0) }) else {
      return .refused(.refused(401, .unknownDevice))
    }
    guard let key = try? DevicePublicKey(phone.publicKey), unverified.isMade(by: key) else {
      return .refused(.refused(401, .signatureRefused))
    }
    // Said only to who holds the key: the phone can tell its user.
    guard !phone.isCutOff, let user = phone.user else { return .refused(.refused(403, .deviceCutOff)) }
    guard unverified.statement["origin"]?.string == call.address.url.origin else {
      return .refused(.refused(401, .wrongOrigin))
    }
    call.request.onProof()
    return .verified(
      VerifiedStatement(
        phone: phone, user: user, statement: unverified.statement, signature: unverified.signature,
        assertion: unverified.assertion))
  }

  /// What the phone asks for. Its nonce is spent, also for a service that is killed, when this says yes.
  func ask(in call: Call, purposes: Set<DevicePurpose>) async throws -> Outcome<(VerifiedStatement, DeviceAsk)> {
    switch try await statement(in: call) {
    case .refused(let reply): return .refused(reply)
    case .verified(let verified):
      guard let ask = try? DeviceAsk(verified.statement), purposes.contains(ask.purpose),
        (1...64).contains(ask.nonce.utf8.count)
      else { return .refused(.refused(400, .badRequest)) }
      let wall = storage.clock.wall().seconds
      let window = SignatureCheck.clockWindow
      guard (wall - window...wall + window).contains(ask.timestamp) else {
        return .refused(.refused(401, .timestampOutsideWindow))
      }
      let now = storage.now()
      let isNew = try await storage.note { db in
        try SpentNonces.spend(
          ask.nonce, client: "phone:" + verified.phone.id,
          forgetAt: UnixTime(seconds: ask.timestamp + SignatureCheck.nonceLifetime), at: now, in: db)
      }
      return isNew ? .verified((verified, ask)) : .refused(.refused(401, .nonceReplayed))
    }
  }
}
