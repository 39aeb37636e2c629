import FuzzKit
import IAMPASSProtocol

@testable import IAMPASSClient

/// Takes every signature for a right one, so that all that stands behind it is looked at.
private struct Believer: SignatureVerifier {
  func prepare() throws(VerifierError) {}
  func verifies(
    _ signature: ECDSASignature, over digest: [UInt8], by key: P256PublicKey
  ) throws(VerifierError) -> Bool {
    must(digest.count == 32, "a digest of another length")
    must(ECDSASignature(der: signature.der) == signature, "a signature that is read otherwise than written")
    return true
  }
}

private let origin = "https://iampass.test"
private let context = SignInContext(host: "desk", service: "sudo", user: "alice")
private let asked: AskedApproval = {
  // The curve's generator.
  let key = P256PublicKey(
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEaxfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpZP40Li/hp/m47n60p8D54WK84zV2sxXs7LtkBoN79R9Q=="
  )
  guard let key, let lock = PinnedPhone.Credential(id: "AQID", key: key),
    let locked = PinnedPhone(id: "phone", key: key, credential: lock, since: 0, name: ""),
    let plain = PinnedPhone(id: "tap", key: key, credential: nil, since: 0, name: ""),
    let demand = try? ApprovalDemand(phones: [locked, plain], asked: [], verifier: Believer()),
    let asked = try? AskedApproval(demand, context: context, origin: origin)
  else { fatalError("the request is a good one") }
  return asked
}()

/// An approval that is taken says all that was asked, word for word. `$challenge`, `$code` and `$hash` in the input stand
/// for what this process asks.
func fuzzApprovals(_ input: [UInt8]) {
  var text = input.text
  for (name, value) in [
    ("$challenge", asked.challenge.text), ("$code", asked.code.exposedValue), ("$hash", asked.contextHash),
  ] { text = text.replacing(name, with: value) }
  guard let json = try? JSON(parsing: Array(text.utf8)),
    let approval = try? ApprovalCheck(asked: asked, session: "session").verified(json)
  else { return }
  let phone = json["phone"]?.string ?? ""
  let isLocked = phone == "phone"
  let statement = json["statement"]
  let members = [
    "answer": "approve", "challenge": asked.challenge.text, "code": asked.code.exposedValue,
    "context_hash": asked.contextHash, "device": phone, "method": isLocked ? "device" : "acceptance",
    "origin": origin, "purpose": "answer", "session": "session",
  ]
  for (name, value) in members {
    must(statement?[name] == .string(value), "an approval with another \(name) is taken")
  }
  must(["phone", "tap"].contains(phone) && approval.phone.id == phone, "another phone's approval is taken")
  must(approval.method == (isLocked ? .device : .acceptance), "a weaker approval is taken")
  guard isLocked else { return }
  let data = json["assertion"]?["authenticator_data"]?.string.flatMap(Base64URL.decode) ?? []
  must(data.count >= 37 && data[32] & 0x05 == 0x05, "an authenticator that did not verify its user is taken")
  must(data.starts(with: Digest.sha256(Array("iampass.test".utf8))), "another page's authenticator is taken")
}
