import DeviceProtocol
import Foundation
import FuzzKit
import IAMPASSProtocol

@testable import IAMPASSServer

/// What an authenticator says: taken only as the specification's checks allow (Web Authentication, level 2, §7).
///
/// The first line is `create|get LENGTH COUNTER [ours] [forged]`: that many bytes of the rest are the authenticator's
/// data, what follows the client's. `ours` puts relying party and key into the data, `forged` signs with another key.
func fuzzAuthenticators(_ input: [UInt8]) {
  let pieces = Pieces(input)
  let length = pieces.number(1, below: pieces.rest.count + 1)
  let challenge = Digest.sha256(Array("challenge".utf8))
  let client = clientData(Array(pieces.rest.dropFirst(length)), challenge)
  var data = Array(pieces.rest.prefix(length))
  let isNew = pieces.words.first == "create"
  if pieces.words.contains("ours") { data = ours(data, isNew: isNew) }
  if let read = UnverifiedAuthenticatorData(data) { checkReading(read, data) }
  let check = CredentialCheck(origin: ServiceFixture.origin)
  if isNew {
    checkCredential(check, data, client, challenge)
  } else {
    let counter = UInt32(pieces.number(2, below: 1 << 32))
    checkAssertion(check, data, client, challenge, counter: counter, isForged: pieces.words.contains("forged"))
  }
}

private let authenticator: Authenticator = {
  guard let made = try? Authenticator() else { fatalError("there is no key") }
  return made
}()

/// The fixed part of every authenticator's data: hash, flags, counter.
private let headLength = 37

private func clientData(_ text: [UInt8], _ challenge: [UInt8]) -> [UInt8] {
  var data = Data(text)
  for (name, value) in [("$challenge", Base64URL.encode(challenge)), ("$origin", ServiceFixture.origin)] {
    while let place = data.range(of: Data(name.utf8)) { data.replaceSubrange(place, with: Data(value.utf8)) }
  }
  return Array(data)
}

private func ours(_ data: [UInt8], isNew: Bool) -> [UInt8] {
  guard data.count >= headLength else { return data }
  let key = authenticator.coseKey
  var data = Authenticator.relyingParty + data.dropFirst(32)
  if isNew, data.count >= headLength + 18 + key.count { data.replaceSubrange((data.count - key.count)..., with: key) }
  return data
}

/// Written again it is the same, up to its extensions.
private func checkReading(_ read: UnverifiedAuthenticatorData, _ data: [UInt8]) {
  must(read.rpIDHash == Array(data[..<32]) && read.flags.rawValue == data[32], "hash or flags are others")
  must(data[33..<37].reduce(0) { $0 << 8 | UInt32($1) } == read.counter, "the counter is another")
  var place = headLength
  if let credential = read.credential {
    must(data[32] & 0x40 != 0, "a credential that was not announced")
    must(Int(data[53]) << 8 | Int(data[54]) == credential.id.count, "an id of another length")
    must((1...1_023).contains(credential.id.count), "an id out of bounds")
    must(Array(data[55..<55 + credential.id.count]) == credential.id, "another id")
    place = 55 + credential.id.count + 77
    must(
      data.count >= place && Array(data[(place - 67)..<(place - 35)]) == Array(credential.coordinates.prefix(32)),
      "another key")
  }
  must(data[32] & 0x80 != 0 ? data.count > place : data.count == place, "more or less than was announced")
}

private func isClientDataRight(_ client: [UInt8], _ challenge: [UInt8], type: String) -> Bool {
  guard let json = ReferenceJSON(client) else { return false }
  return json["type"]?.string == type && json["challenge"]?.string == Base64URL.encode(challenge)
    && json["origin"]?.string == ServiceFixture.origin && [nil, .bool(false)].contains(json["crossOrigin"])
}

private func checkCredential(_ check: CredentialCheck, _ data: [UInt8], _ client: [UInt8], _ challenge: [UInt8]) {
  let publicKey = authenticator.publicKey
  let id = Array(data.dropFirst(55).prefix(data.count > 54 ? Int(data[53]) << 8 | Int(data[54]) : 0))
  let unverified = UnverifiedCredential(
    id: id, publicKey: publicKey, authenticatorData: data, clientData: client)
  guard case .success(let credential) = check.credential(unverified, challenge: challenge) else { return }
  must(isClientDataRight(client, challenge, type: "webauthn.create"), "a credential for something else")
  must(data.starts(with: Authenticator.relyingParty), "a credential for another service")
  must(data[32] & 0x45 == 0x45, "a credential without its user")
  must(credential.id == Base64URL.encode(id) && credential.publicKey == publicKey, "another credential")
  must(Array(data[(55 + id.count)...].prefix(77)) == authenticator.coseKey, "another key's credential")
}

private func checkAssertion(
  _ check: CredentialCheck, _ data: [UInt8], _ client: [UInt8], _ challenge: [UInt8], counter: UInt32, isForged: Bool
) {
  let known = VerifiedCredential(
    id: Base64URL.encode(authenticator.id), publicKey: authenticator.publicKey, counter: counter)
  let unsigned = UnverifiedAssertion(authenticatorData: data, clientData: client, signature: [])
  // Signing takes longer than all the rest, and comes only if nothing else is wrong.
  guard case .failure(let refusal) = check.assertion(unsigned, by: known, challenge: challenge) else {
    return must(false, "an approval without a signature")
  }
  guard refusal == .signature, let signer = isForged ? try? Authenticator() : authenticator,
    let assertion = try? signer.assertion(data: data, clientData: client)
  else { return }
  guard case .success(let next) = check.assertion(assertion, by: known, challenge: challenge) else { return }
  must(!isForged, "another's signature is taken")
  must(isClientDataRight(client, challenge, type: "webauthn.get"), "an approval of something else")
  must(data.starts(with: Authenticator.relyingParty), "an approval for another service")
  must(data[32] & 0x05 == 0x05, "an approval without its user")
  must(next.counter > counter || next.counter == 0 && counter == 0, "a copied authenticator's approval")
  must(next.isBackupEligible == (data[32] & 0x08 != 0), "another word on syncing")
}
