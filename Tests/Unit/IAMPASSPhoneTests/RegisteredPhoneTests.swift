import DeviceProtocol
import IAMPASSPhone
import IAMPASSProtocol
import Testing
import WorkerLink

@Suite struct RegisteredPhoneTests {
  private func phone(_ service: ScriptedService) throws -> RegisteredPhone {
    let account = PhoneAccount(
      server: try ServerURL("https://iampass.test"), device: "d", key: try DeviceKey.generate(), application: "office",
      user: "Alice", authority: nil)
    return RegisteredPhone(account: account, transport: service)
  }

  private func request(_ method: AuthenticationMethod = .acceptance) -> OpenRequest {
    OpenRequest(
      session: "s", nonce: "n", expires: 1, secondsLeft: 60, context: SignInContext(host: "web-1"), method: method,
      credential: "AQ")
  }

  @Test(arguments: [
    (403, "WRONG_CODE", AnswerOutcome.hasAnotherCode), (409, "ALREADY_ANSWERED", .alreadyAnswered),
    (410, "TOO_LATE", .tooLate), (404, "UNKNOWN_REQUEST", .tooLate),
  ])
  func aRefusedAnswerIsNotTaken(status: Int, reason: String, outcome: AnswerOutcome) throws {
    let service = ScriptedService([ScriptedService.refusal(status, reason)])
    #expect(try phone(service).answer(request(), with: .approve()) == outcome)
    #expect(service.isFinished)
  }

  @Test func anUnknownRefusalOfAnAnswerIsThrown() throws {
    let service = ScriptedService([ScriptedService.refusal(400, "WRONG_CONTEXT")])
    #expect(throws: PhoneError.refused(status: 400, reason: "WRONG_CONTEXT")) {
      try phone(service).answer(request(), with: .approve())
    }
  }

  @Test(arguments: [true, false])
  func anApprovalWithoutTheScreenLockIsNotSent(hasLock: Bool) throws {
    let service = ScriptedService([])
    let lock = hasLock ? ScriptedLock(agrees: false) : nil
    #expect(throws: PhoneError.methodNotSupported) {
      try phone(service).answer(request(.device), with: .approve(), authenticator: lock)
    }
    #expect(service.asked.isEmpty)
  }

  @Test func theScreenLockSignsTheVeryStatementThatIsSent() throws {
    let service = ScriptedService([ScriptedService.done])
    let lock = ScriptedLock(agrees: true)
    #expect(try phone(service).answer(request(.device), with: .approve(), authenticator: lock) == .taken)
    let sent = try UnverifiedStatement(parsing: try #require(service.asked.first).body)
    #expect(sent.assertion?.signature == [3])
    #expect(lock.challenges == [CredentialChallenge.bytes(for: sent.statement)])
  }

  private struct ScriptedFace: PhoneFace {
    let recognizes: Bool
    func recognizesUser(for request: OpenRequest) -> Bool { recognizes }
  }

  @Test(arguments: [false, nil])
  func anApprovalWithoutTheFaceIsNotSent(recognizes: Bool?) throws {
    let service = ScriptedService([])
    let face = recognizes.map(ScriptedFace.init)
    #expect(throws: PhoneError.methodNotSupported) {
      try phone(service).answer(request(.facial), with: .approve(), face: face)
    }
    #expect(service.asked.isEmpty)
  }

  @Test func aRecognizedFaceIsTheAppsWord() throws {
    let service = ScriptedService([ScriptedService.done])
    #expect(
      try phone(service).answer(request(.facial), with: .approve(), face: ScriptedFace(recognizes: true)) == .taken)
    let sent = try UnverifiedStatement(parsing: try #require(service.asked.first).body)
    #expect(sent.assertion == nil)
    #expect(try AnswerStatement(sent.statement).method == .facial)
  }

  @Test func aDenialNeedsNoScreenLock() throws {
    let service = ScriptedService([ScriptedService.done])
    #expect(try phone(service).answer(request(.device), with: .deny) == .taken)
    #expect(service.isFinished)
  }

  @Test func aPhoneThatIsCutOffIsUnregistered() throws {
    let service = ScriptedService([ScriptedService.refusal(403, "DEVICE_CUT_OFF")])
    try phone(service).unregister()
    #expect(service.isFinished)
  }

  @Test(arguments: [TransportError.Code.connectionLost, .silent])
  func aPhoneIsUnregisteredThoughTheReplyIsLost(_ loss: TransportError.Code) throws {
    let service = ScriptedService([.failure(loss), ScriptedService.refusal(403, "DEVICE_CUT_OFF")])
    try phone(service).unregister()
    #expect(service.isFinished)
  }

  @Test func aPhoneIsNotCalledUnregisteredIfTheServiceDoesNotSaySo() throws {
    let service = ScriptedService([.failure(.connectionLost), .failure(.connectionRefused)])
    #expect(throws: PhoneError.transport(TransportError(.connectionRefused))) { try phone(service).unregister() }
    #expect(service.isFinished)
  }

  @Test func anUnknownPhoneIsNotCalledUnregistered() throws {
    let service = ScriptedService([ScriptedService.refusal(401, "UNKNOWN_DEVICE")])
    #expect(throws: PhoneError.refused(status: 401, reason: "UNKNOWN_DEVICE")) { try phone(service).unregister() }
  }

  @Test(arguments: [(429, "TOO_MANY_FAILURES"), (503, "STORAGE_UNAVAILABLE")])
  func anOverloadedServiceIsUnavailable(status: Int, reason: String) throws {
    let service = ScriptedService([ScriptedService.refusal(status, reason)])
    #expect(throws: PhoneError.unavailable(status: status)) { try phone(service).status() }
  }
}
