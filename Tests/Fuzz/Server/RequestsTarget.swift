import Foundation
import FuzzKit
import IAMPASSProtocol

@testable import IAMPASSServer

/// A request from anybody: it changes nothing, and gets nothing, unless its signature is right.
///
/// The input is a request as text, with `$app` and the like in it (``ServiceFixture/placeholders``); `$documented` or `$client`
/// at the end of an `Authentication` header stands for the right signature.
func fuzzRequests(_ input: [UInt8]) {
  guard let text = RequestText(ServiceFixture.shared.filledIn(input)) else { return }
  let first = ServiceFixture.shared.respond(to: text.request, isBehindProxy: text.isBehindProxy)
  checkReply(first.reply)
  let signer = text.rightSigner
  let signature = first.reply.headers.first { $0.name == ReplySignature.header }?.value
  if signature == nil {
    must(first.changes == 0 || text.isForTheConsole, "changed without a signature: \(text.request.target)")
    must(!text.isSigned || first.reply.status >= 400, "done without a signature: \(text.request.target)")
    return
  }
  guard let signer else { return must(false, "a wrong signature is taken: \(text.request.target)") }
  must(
    signature
      == ReferenceSignature.reply(
        secret: signer.replySecret, nonce: signer.nonce, status: first.reply.status, body: first.reply.body),
    "the reply's signature is another")
  if signer.id == ServiceFixture.shared.host.id {
    must(first.reply.status >= 400 || text.isSignIn, "a host's credential manages: \(text.request.target)")
  }
  let second = ServiceFixture.shared.respond(to: text.request, isBehindProxy: text.isBehindProxy)
  must(second.changes == 0 && second.reply.status == 401, "a request is taken twice: \(second.reply.status)")
  ServiceFixture.shared.restore()
}

private func checkReply(_ reply: ServiceReply) {
  must(reply.reason != .storageUnavailable, "the storage fails by a request")
  must(
    [200, 201, 202, 302, 303, 400, 401, 403, 404, 405, 409, 410, 413, 429].contains(reply.status),
    "says \(reply.status)")
  for header in reply.headers {
    must(
      header.value.utf8.allSatisfy { (0x20...0x7E).contains($0) || $0 >= 0x80 }, "a header's line is broken: \(header)")
    if header == ("Content-Type", "application/json") {
      must(ReferenceJSON(reply.body) != nil, "a reply is not JSON: \(reply.body.text)")
    }
  }
}

/// A request taken apart, with what the fuzzer knows of it by itself.
private struct RequestText {
  struct Signer {
    let id: String
    let nonce: String
    /// What the service signs its reply with.
    let replySecret: String
  }

  let request: ServiceRequest
  let isBehindProxy: Bool
  private let authentications: [String]
  private let timestamps: Set<String>

  init?(_ text: [UInt8]) {
    let lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    let words = lines[0].split(separator: UInt8(ascii: " "), maxSplits: 1).map(\.text)
    guard words.count == 2 else { return nil }
    let headLines = lines.dropFirst().prefix { !$0.isEmpty }
    var headers = headLines.compactMap { line -> (name: String, value: String)? in
      let sides = line.text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      return sides.count == 2 ? (String(sides[0]), sides[1].trimmingCharacters(in: .whitespaces)) : nil
    }
    let authority = headers.first { $0.name == "Host" }?.value ?? ServiceFixture.authority
    isBehindProxy = headers.contains { $0.name == "Behind-Proxy" }
    // A held reply would hold the fuzzer.
    headers.removeAll { ["host", "prefer"].contains($0.name.lowercased()) }
    let stamps = Set(headers.filter { RequestText.isTimestamp($0.name) }.map(\.value))
    let uri = (isBehindProxy ? "https://public.test/base" : "https://" + authority) + words[1]
    for index in headers.indices where headers[index].name.lowercased() == "authentication" {
      headers[index].value = RequestText.signed(headers[index].value, stamps.first ?? "", uri)
    }
    authentications = headers.filter { $0.name.lowercased() == "authentication" }.map(\.value)
    timestamps = stamps
    let body = Array(lines.dropFirst(headLines.count + 2).joined(separator: [UInt8(ascii: "\n")]))
    request = ServiceRequest(
      method: words[0], target: words[1], authority: authority, headers: headers, body: body, peer: "192.0.2.1")
  }

  private var path: [String] {
    let path = request.target.prefix { $0 != "?" }.replacingOccurrences(of: "+", with: " ")
    return path.split(separator: "/").map { $0.removingPercentEncoding ?? String($0) }
  }

  var isForTheConsole: Bool { path.contains("console") }
  var isSignIn: Bool { path.contains("authenticate_user") }
  /// Whether the route is one that is signed.
  var isSigned: Bool {
    guard !path.contains("console") else { return false }
    let routes = [
      "add_users", "delete_users", "device_registration_link", "has_registered_mobile_device",
      "lost_user_mobile_device", "send_registration_sms", "authenticate_user", "session_status", "session_logout",
    ]
    return path.contains { routes.contains($0) } && !path.contains("register") && !path.contains("phone")
  }

  /// The owner of the request's signature; nil without a right one, or with two.
  var rightSigner: Signer? {
    guard authentications.count == 1, let value = authentications.first, timestamps.count == 1,
      let timestamp = timestamps.first, let seconds = Int64(timestamp),
      (seconds - ServiceFixture.now.seconds).magnitude <= 300, value.hasPrefix("hmac ")
    else { return nil }
    let parts = value.dropFirst("hmac ".count).split(separator: ":", omittingEmptySubsequences: false).map(String.init)
    guard parts.count >= 3 else { return nil }
    let id = parts.dropLast(2).joined(separator: ":")
    let nonce = parts[parts.count - 2]
    guard let (secret, replySecret) = RequestText.secrets[id],
      ReferenceSignature.isRight(
        parts[parts.count - 1], nonce: nonce, secret: secret, timestamp: timestamp, uris: acceptableURIs)
    else { return nil }
    return Signer(id: id, nonce: nonce, replySecret: replySecret)
  }

  /// The spellings of an address that a client may have used.
  private var acceptableURIs: [String] {
    if isBehindProxy {
      let origins = ["https://public.test", "https://public.test:443"]
      return origins.flatMap { [$0 + request.target, $0 + "/base" + request.target] }
    }
    let sent = request.authority ?? ""
    let plain = sent.lowercased().hasSuffix(":443") ? String(sent.lowercased().dropLast(4)) : sent.lowercased()
    return [sent, plain, plain + ":443"].map { "https://" + $0 + request.target }
  }

  /// For each id, what it signs with and what its replies are signed with.
  private static let secrets: [String: (String, String)] = {
    let world = ServiceFixture.shared
    let office = world.application.secret.exposedValue
    var secrets = [world.application.id: (office, office)]
    secrets[world.host.id] = (world.host.secret.exposedValue, world.host.secret.exposedValue)
    for session in world.sessions { secrets[session.token.exposedValue] = (session.secret.exposedValue, office) }
    return secrets
  }()

  private static func isTimestamp(_ name: String) -> Bool {
    [
      "x-iampass-authentiaction-timestamp", "x-iampass-authentication-timestamp",
      "x-activeconnect-authenticiation-timestamp", "x-sonikpass-authentication-timestamp",
    ].contains(name.lowercased())
  }

  /// The right signature, if the input asks for it.
  private static func signed(_ value: String, _ timestamp: String, _ uri: String) -> String {
    let parts = value.dropFirst("hmac ".count).split(separator: ":").map(String.init)
    guard parts.count == 3, let (secret, _) = secrets[parts[0]], let number = UInt64(parts[1]) else { return value }
    let signature: String? =
      switch parts[2] {
      case "$documented": ReferenceSignature.documented(number, parts[1], secret, timestamp, uri)
      case "$client": ReferenceSignature.client(parts[1], secret, timestamp, uri)
      default: nil
      }
    return signature.map { "hmac \(parts[0]):\(parts[1]):\($0)" } ?? value
  }
}
