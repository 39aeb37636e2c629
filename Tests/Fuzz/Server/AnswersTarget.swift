import DeviceProtocol
import FuzzKit
import IAMPASSProtocol

@testable import IAMPASSServer

/// What a phone says: it counts only as this phone's own word, about this request, as it was shown, in time, once.
///
/// The first line is `ROUTE [unsigned | stranger] [asserted]`, the rest a statement, which the harness signs.
func fuzzAnswers(_ input: [UInt8]) {
  let pieces = Pieces(input)
  guard let route = pieces.words.first, let said = PhoneWord(route, pieces) else { return }
  let first = ServiceFixture.shared.respond(to: said.request)
  must(first.reply.reason != .storageUnavailable, "the storage fails by a phone's word")
  guard first.reply.status == 200 else {
    // The one refusal that has an effect.
    must(
      first.changes == 0 || isBurnt(first.reply) || said.spendsItsNonce,
      "a refusal changes something: \(first.reply.body.text)")
    if first.reply.reason == .wrongCode { said.checkWrongCode() }
    if first.changes != 0 { ServiceFixture.shared.restore() }
    return
  }
  said.check()
  let second = ServiceFixture.shared.respond(to: said.request)
  must(second.reply.status >= 400, "a phone's word is taken twice")
  ServiceFixture.shared.restore()
}

private func isBurnt(_ reply: ServiceReply) -> Bool { reply.reason == .wrongCode }

/// A phone's word, and what it must say to be taken.
private struct PhoneWord {
  let request: ServiceRequest
  /// What the service takes the route for: without a query, decoded.
  private let route: String
  private let statement: ReferenceJSON?
  private let isSigned: Bool
  private let isAsserted: Bool

  init?(_ route: String, _ pieces: Pieces) {
    let text = ServiceFixture.shared.filledIn(pieces.rest)
    statement = ReferenceJSON(text)
    let target = "/device/v1/" + route
    self.route = RequestTarget(target[...])?.path.last ?? route
    isSigned = !pieces.words.contains("unsigned") && !pieces.words.contains("stranger")
    isAsserted = pieces.words.contains("asserted")
    guard let body = PhoneWord.body(text, pieces.words) else { return nil }
    request = ServiceRequest(method: "POST", target: target, authority: ServiceFixture.authority, body: body)
  }

  private static func body(_ text: [UInt8], _ words: [String]) -> [UInt8]? {
    guard let statement = try? JSON(parsing: text) else { return text }
    if words.contains("unsigned") { return text }
    let world = ServiceFixture.shared
    let key = words.contains("stranger") ? world.authenticator.key : world.key
    let challenge = CredentialChallenge.bytes(for: statement)
    let assertion = words.contains("asserted") ? try? world.authenticator.assertion(challenge: challenge) : nil
    return try? UnverifiedStatement.body(signing: statement, with: key, assertion: assertion)
  }

  private func says(_ name: String, _ value: String) -> Bool { statement?[name]?.string == value }

  /// An ask of this phone is used up, even if something else in the body is wrong.
  var spendsItsNonce: Bool { isSigned && route != "answer" && says("origin", ServiceFixture.origin) }

  func check() {
    must(isSigned, "another's word is taken")
    must(
      says("origin", ServiceFixture.origin) && says("device", ServiceFixture.shared.device),
      "a word for another service or phone")
    route == "answer" ? checkAnswer() : checkAsk()
  }

  private func checkAnswer() {
    let world = ServiceFixture.shared
    must(says("purpose", "answer"), "another statement is taken for an answer")
    guard let index = [0, 1].first(where: { says("session", world.requests[$0].session) }) else {
      return must(false, "an answer to no request")
    }
    let request = world.requests[index]
    must(says("nonce", request.nonce), "an answer to another asking")
    must(statement?["expires"]?.integer == Int64(request.expires), "an answer in another time")
    must(says("context_hash", ShownContext.hash(request.context)), "an answer to what was not shown")
    let isApproval = says("answer", "approve")
    must(isApproval || ["deny", "not_me", "unable"].contains { says("answer", $0) }, "an unknown answer is accepted")
    if isApproval {
      must(says("code", world.sessions[index].matchCode ?? "-"), "approved without the code")
      must(index == 0 || isAsserted && says("method", "device"), "approved without unlocking the phone")
    }
    let lifecycle = world.session(request.session)?.lifecycle
    must(lifecycle?.isApproved == isApproval, "the session is not as answered")
    must(
      world.session(world.requests[1 - index].session)?.lifecycle.isUnanswered == true, "another request is answered")
  }

  func checkWrongCode() {
    let world = ServiceFixture.shared
    for request in world.requests {
      must(world.session(request.session)?.lifecycle.isApproved == false, "approved by a wrong code")
    }
  }

  private func checkAsk() {
    let purposes = [
      "requests": ["requests"], "presence": ["leave", "return"], "status": ["status"], "credential": ["credential"],
      "end": ["end"], "unregister": ["unregister"], "push": ["push"], "events": ["events"], "look": ["look"],
      "face": ["face", "no_face"],
    ]
    must(purposes[route]?.contains { says("purpose", $0) } == true, "a word for another purpose, at \(route)")
    guard case .number(let stamp)? = statement?["timestamp"], let seconds = Int64(stamp) else {
      return must(false, "an ask without a time")
    }
    must((seconds - ServiceFixture.now.seconds).magnitude <= 300, "an ask from another time")
    must((1...64).contains(statement?["nonce"]?.string?.utf8.count ?? 0), "an ask without a nonce")
    switch route {
    // Its challenge is one that no input can know.
    case "credential": must(false, "a credential without its challenge")
    case "end": checkEnd()
    case "push": must(statement?["subscription"] != nil, "forgets where to ring without being told")
    default: break
    }
  }

  private func checkEnd() {
    guard case .array(let items)? = statement?["sessions"] else { return must(false, "ends nothing in particular") }
    for request in ServiceFixture.shared.requests {
      let isNamed = items.contains { $0.string == request.session }
      must(
        ServiceFixture.shared.session(request.session)?.lifecycle.isUnanswered == !isNamed, "ends others than it names")
    }
    must(
      items.allSatisfy { item in ServiceFixture.shared.requests.contains { item.string == $0.session } },
      "ends a stranger's")
  }
}
