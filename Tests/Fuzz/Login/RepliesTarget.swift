import FuzzKit
import IAMPASSProtocol

@testable import HostSystem
@testable import IAMPASSClient
@testable import WorkerLink

/// What the service says, up to the approval. The first line is `STATUS SIGNING [required|targets]`, the rest the
/// body.
func fuzzReplies(_ input: [UInt8]) {
  let pieces = Pieces(input)
  let status = pieces.number(0, below: 1000)
  let signing = pieces.words.dropFirst().first.flatMap { ScriptedService.Signing(rawValue: $0) } ?? .none
  let service = ScriptedService(status: status, signing: signing, body: pieces.rest)
  let (signed, targets) = (pieces.words.contains("required"), pieces.words.contains("targets"))
  let isTrusted = !(signed || targets) || signing == .target || signing == .right && !targets
  let settings = ScriptedService.settings(signedReplies: signed, signedTargets: targets)
  let answer = Answer(status: status, body: pieces.rest, isTrusted: isTrusted)
  answer.checkApproval(service, settings)
  answer.checkStart(service, settings)
  answer.checkInquiry(service, settings)
  checkMessages(pieces.rest)
}

/// One reply, and what may become of it at most.
private struct Answer {
  let status: Int
  let isTrusted: Bool
  let reference: ReferenceJSON?
  private let body: [UInt8]
  private let deadline = MonotonicInstant(nanoseconds: 0)

  init(status: Int, body: [UInt8], isTrusted: Bool) {
    self.status = status
    self.body = body
    self.isTrusted = isTrusted
    reference = ReferenceJSON(body)
  }

  /// The forms in which a reply says its status: flat, nested, or both.
  private var forms: [ReferenceJSON] {
    guard let reference else { return [] }
    let flat = reference["session_status"] == nil ? [] : [reference]
    return flat + (reference["authentication_status"].map { [$0] } ?? [])
  }

  private func client(_ service: ScriptedService, _ settings: ServiceSettings) -> AuthenticationClient {
    let client = try? AuthenticationClient(
      settings: settings, credential: ScriptedService.credential, transport: service, unixTime: { 1_800_000_000 })
    guard let client else { fatalError("the credential fits its scheme") }
    return client
  }

  func checkApproval(_ service: ScriptedService, _ settings: ServiceSettings) {
    let session = ScriptedService.pending(settings)
    guard
      let answer = try? client(service, settings).approval(of: session, waitSeconds: nil, deadline: deadline)
    else { return }
    must(status == 200 && isTrusted, "an answer is taken from an error, or without a signature")
    guard let reference, reference.isObject else { return must(false, "an answer is taken from invalid JSON") }
    let words = forms.map { $0["session_status"]?.string }
    must(!words.isEmpty && Set(words).count == 1, "an answer is taken that says nothing, or two things")
    guard case .approved = answer else { return must(words.first != "active", "an approval is not seen") }
    must(words.allSatisfy { $0 == "active" }, "an approval without the word")
    must(
      forms.allSatisfy { [nil, .null, .bool(true)].contains($0["authenticated"]) },
      "an approval contradicts itself")
  }

  func checkStart(_ service: ScriptedService, _ settings: ServiceSettings) {
    let answer = try? client(service, settings).start(
      token: Secret("token"), .service(methods: [], context: nil), durationSeconds: 60, deadline: deadline)
    guard let answer else { return }
    must((200..<300).contains(status) && isTrusted, "a session from an error, or without a signature")
    guard case .pending(let pending) = answer else { return }
    let form = reference.map { $0["authentication_status"] ?? $0 }
    guard let form, form["authenticated"] == .bool(true) else { return must(false, "started without being so") }
    must(form["session_token"]?.string == pending.remote.token.exposedValue, "another token than was said")
    must(isPlainWord(pending.remote.token.exposedValue), "a token that cannot stand in a header")
    must(isDocumentedSecret(pending.remote.secret.exposedValue), "a secret that cannot sign")
    for url in [pending.remote.statusURL, pending.remote.logoutURL] {
      must(url.lowercased().hasPrefix("http") && leadsToTheService(url), "a session at another address: \(url)")
    }
    let digits = pending.matchCode.map { $0.utf8.count == 2 && $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }
    must(digits ?? true, "a code that is not two digits")
  }

  func checkInquiry(_ service: ScriptedService, _ settings: ServiceSettings) {
    let seal = RequestSeal(settings: settings, credential: ScriptedService.credential, unixTime: { 1_800_000_000 })
    let inquiry = SessionInquiry(seal: seal)
    let session = ScriptedService.pending(settings).remote
    guard let question = try? inquiry.status(of: session, waitSeconds: nil),
      let answer = try? inquiry.answer(service.reply(to: question.request), to: question)
    else { return }
    switch answer {
    case .unknownSession:
      must([404, 410].contains(status), "an outage ends a session")
      must(reference?.isObject == true, "a proxy's page ends a session")
    case .status(let word, _, _):
      must(status == 200 && isTrusted, "a status from an error, or without a signature")
      must(forms.contains { $0["session_status"]?.string == word.word }, "a status that was not said")
    case .contradiction: must(status == 200 && isTrusted, "a contradiction from an error")
    }
  }
}

/// Each message that is understood is the same after it was written and read again.
private func checkMessages(_ body: [UInt8]) {
  same(body, { try? StartReply(parsing: $0) }, { $0.encoded() })
  same(body, { try? StatusReply(parsing: $0) }, { $0.encoded() })
  same(body, { try? AcknowledgementReply(parsing: $0) }, { $0.encoded() })
  same(body, { try? AddUsersReply(parsing: $0) }, { $0.encoded() })
  same(body, { try? RegistrationLinkReply(parsing: $0) }, { $0.encoded() })
  same(body, { try? SealedLinkReply(parsing: $0) }, { $0.encoded() })
  same(body, { try? DeviceRegisteredReply(parsing: $0) }, { $0.encoded() })
  same(body, { try? UserPhonesReply(parsing: $0) }, { $0.encoded() })
  same(body, { try? PhoneDigestsReply(parsing: $0) }, { $0.encoded() })
  same(body, { try? ServiceAnnouncement(parsing: $0) }, { $0.encoded() })
  same(body, { try? StartRequest(parsing: $0) }, { $0.encoded() })
  same(body, { try? UsersRequest(parsing: $0) }, { $0.encoded() })
  same(body, { try? AddUsersRequest(parsing: $0) }, { $0.encoded() })
  same(body, { try? UserListReply(parsing: $0) }, { $0.encoded() })
  same(body, { try? SignedUserListReply(parsing: $0) }, { $0.encoded() })
  same(body, { try? JoinReply(parsing: $0) }, { $0.encoded() })
  same(body, { try? RegistrationMessageRequest(parsing: $0) }, { $0.encoded() })
}

private func same<Message: Equatable>(
  _ body: [UInt8], _ read: ([UInt8]) -> Message?, _ write: (Message) -> [UInt8]
) {
  guard let message = read(body) else { return }
  must(ReferenceJSON(body) != nil || body.isEmpty, "\(Message.self) is read from invalid JSON")
  must(read(write(message)) == message, "\(Message.self) is written otherwise than read")
}
