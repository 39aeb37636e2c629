import DeviceProtocol
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// Changes of the list of users that a computer asks for, and an administrator's phone approves.
@Suite struct UserChangeTests {
  private let fixture: Fixture
  private let desk: HostCredential
  private var storage: any ServiceStorage { fixture.service.core.storage }

  init() async throws {
    fixture = try await Fixture()
    desk = try await fixture.service.storage.createHostCredential(
      named: "desk", host: "desk-7", of: "shop", at: fixture.clock.now)
  }

  private func change(
    _ act: UserChangeRequest.Act = .add, _ users: [String] = ["bob"], groups: [String]? = nil,
    id: Character = "a", asks: [String] = [], isWithdrawn: Bool = false
  ) -> UserChangeRequest {
    UserChangeRequest(
      id: String(repeating: id, count: 32), act: act, users: users, groups: groups, asker: "alice", asks: asks,
      isWithdrawn: isWithdrawn)
  }

  private func send(
    _ change: UserChangeRequest, by computer: HostCredential? = nil, digest: Bool = true
  ) async throws -> (reply: ServiceReply, asked: ServiceRequest) {
    let (body, computer) = (change.encoded(), computer ?? desk)
    let item = BodyDigest.item(for: body)
    let target = "/authentication/user_change/\(computer.id)" + (digest ? "?\(item.0)=\(item.1)" : "")
    let request = try fixture.signed("POST", target, body, by: computer)
    return (await fixture.respond(request), request)
  }

  /// The change with the requests that its first question made.
  private func asked(_ change: UserChangeRequest) async throws -> UserChangeRequest {
    let reply = try await send(change).reply
    #expect(reply.status == 202)
    guard case .waiting(let asks, let code) = try UserChangeReply(parsing: reply.body) else {
      throw Fixture.NotStarted()
    }
    #expect(code == change.code.exposedValue)
    return UserChangeRequest(
      id: change.id, act: change.act, users: change.users, groups: change.groups, asker: change.asker, asks: asks)
  }

  private func outcome(_ change: UserChangeRequest) async throws -> String {
    let reply = try await send(change).reply
    if let reason = reply.reason { return reason }
    switch try UserChangeReply(parsing: reply.body) {
    case .waiting: return "waiting"
    case .done(let administrator, _): return "done by \(administrator)"
    }
  }

  private func listed() async throws -> [String: [String]] {
    Dictionary(uniqueKeysWithValues: try await storage.listedUsers(of: "shop").map { ($0.name, $0.groups) })
  }

  private func approve(_ change: UserChangeRequest, by phone: TestPhone) async throws {
    let request = try #require(try await phone.list().first)
    #expect(try await phone.answer(.approve, to: request, code: change.code.exposedValue).status == 200)
  }

  private func list(_ name: String, _ groups: [String] = []) async throws {
    _ = try await storage.listUser(UserListOrder(application: "shop", name: name, groups: groups))
  }

  @Test func thePhoneShowsTheChangeWhoAsksAndWhere() async throws {
    let phone = try await TestPhone.administrator(in: fixture, "ada", .admin)
    let change = try await asked(change(groups: ["office"]))
    let request = try #require(try await phone.list().first)
    #expect(request.context.command == "add bob to office")
    #expect(request.context.host == "desk-7" && request.context.user == "alice")
    #expect(request.context.service == "users of shop")
    // What the phone signs is good for this change by this computer alone.
    #expect(request.challenge == change.challenge(for: desk.id))
    #expect(try await outcome(change) == "waiting")
    #expect(try await listed().isEmpty)
    try await approve(change, by: phone)
    #expect(try await outcome(change) == "done by ada")
    #expect(try await listed() == ["bob": ["office"]])
    #expect(try await outcome(change) == "CHANGE_USED")
    let entry = try #require(
      try await storage.auditEntries(after: 0, limit: 100).last { $0.event == "user listed" })
    #expect(entry["administrator"] == "ada" && entry["approval"] == request.session)
    #expect(try await storage.liveSessions().isEmpty)
  }

  @Test func thePhoneThatApprovedIsAskedToSignTheListAtOnce() async throws {
    let phone = try await TestPhone.administrator(in: fixture, "ada", .admin)
    let other = try await TestPhone.administrator(in: fixture, "bo", .admin)
    let operators = try #require(storage as? any OperatorStore)
    _ = try await operators.createAdministratorSet(replacing: false, at: fixture.clock.now)
    let change = try await asked(change())
    try await approve(change, by: phone)
    #expect(try await outcome(change) == "done by ada")
    #expect(try await phone.list().map(\.document) == ["users"])
    #expect(try await other.list().isEmpty)
  }

  @Test func withoutASetNobodyIsAskedToSign() async throws {
    let phone = try await TestPhone.administrator(in: fixture, "ada", .admin)
    let change = try await asked(change())
    try await approve(change, by: phone)
    #expect(try await outcome(change) == "done by ada")
    #expect(try await phone.list().isEmpty)
  }

  @Test func anApprovalIsGoodOnlyOnce() async throws {
    let phone = try await TestPhone.administrator(in: fixture, "ada", .admin)
    let change = try await asked(change())
    try await approve(change, by: phone)
    #expect(try await outcome(change) == "done by ada")
    try await storage.removeListedUser("bob", of: "shop", at: fixture.clock.now)
    #expect(try await outcome(change) == "CHANGE_USED")
    #expect(try await listed().isEmpty)
  }

  /// Another change with the approved request's id, another computer, and a request that is about something else.
  @Test func anApprovalIsGoodForNothingElse() async throws {
    let phone = try await TestPhone.administrator(in: fixture, "ada", .admin)
    let change = try await asked(change())
    try await approve(change, by: phone)
    let other = try await fixture.service.storage.createHostCredential(
      named: "other", host: "desk-7", of: "shop", at: fixture.clock.now)
    #expect(try await send(change, by: other).reply.reason == "CHANGE_NOT_ANSWERED")
    for forged in [
      self.change(.add, ["eve"], asks: change.asks), self.change(.remove, asks: change.asks),
      self.change(.add, groups: ["wheel"], asks: change.asks), self.change(id: "b", asks: change.asks),
    ] {
      #expect(try await outcome(forged) != "done by ada")
    }
    #expect(try await listed().isEmpty)
    #expect(try await outcome(change) == "done by ada")
  }

  /// A client of the administrators' application names a challenge, too, and shows other words.
  @Test func anApprovalOfOtherWordsDoesNotCount() async throws {
    let phone = try await TestPhone.administrator(in: fixture, "ada", .admin)
    let forged = change()
    let own = try #require(try await storage.administratorsApplication())
    let application = try #require(try await storage.application(own))
    let ask = SessionStartRequest(
      user: "ada", signInClient: SignInClient(application: application, credential: nil), client: .unknown,
      methods: AuthenticationMethod.allCases, duration: 60, context: SignInContext(host: "web-1", command: "ls"),
      hasContext: true, challenge: forged.challenge(for: desk.id), matchCode: forged.code, boot: nil)
    let now = fixture.clock.now
    let start = try await storage.start(ask, at: now) { record in
      StartPolicy.decide(ask, try StartFacts(record, ask, at: now), at: now)
    }
    guard case .started(let session, _) = start.outcome else {
      Issue.record("not started")
      return
    }
    try await approve(forged, by: phone)
    #expect(try await outcome(change(asks: [session.id])) == "CHANGE_NOT_ANSWERED")
    #expect(try await listed().isEmpty)
  }

  @Test func nobodyStandsInForAnAdministrator() async throws {
    _ = try await TestPhone.administrator(in: fixture, "ada", .admin)
    let locum = try await TestPhone.administrator(in: fixture, "bo", .auditor)
    let own = try #require(try await storage.administratorsApplication())
    let operators = try #require(storage as? any OperatorStore)
    _ = try await operators.allowLocum(
      LocumOrder(application: own, user: "ada", administrator: "bo"), at: fixture.clock.now)
    let change = try await asked(change())
    try await approve(change, by: locum)
    #expect(try await outcome(change) == "CHANGE_NOT_ANSWERED")
    #expect(try await listed().isEmpty)
  }

  @Test func theAdministratorsOwnUsersAreNotChangedSo() async throws {
    _ = try await TestPhone.administrator(in: fixture, "ada", .admin)
    let own = try #require(try await storage.administratorsApplication())
    let inside = try await fixture.service.storage.createHostCredential(
      named: "inside", host: "desk-9", of: own, at: fixture.clock.now)
    #expect(try await send(change(), by: inside).reply.reason == "OWN_APPLICATION")
  }

  @Test func aComputerThatIsHeldWhileThePhoneIsAskedChangesNothing() async throws {
    let phone = try await TestPhone.administrator(in: fixture, "ada", .admin)
    let held = try await asked(change())
    try await approve(held, by: phone)
    for mark in ["a1", "b1"] {
      _ = try await storage.record(
        ComputerMarkSighting(
          credential: desk.id, mark: mark, former: nil, address: nil, signedAt: 0, at: fixture.clock.now))
    }
    try await storage.changeSettings(of: fixture.application.id) { $0.holdsClones = true }
    #expect(try await outcome(held) == "COMPUTER_HELD")
    #expect(try await outcome(change(id: "b")) == "COMPUTER_HELD")
    #expect(try await phone.list().isEmpty)
    #expect(try await listed().isEmpty)
  }

  @Test func aDenialRefusesItForAllAdministrators() async throws {
    let phone = try await TestPhone.administrator(in: fixture, "ada", .admin)
    let other = try await TestPhone.administrator(in: fixture, "bo", .admin)
    let change = try await asked(change())
    #expect(change.asks.count == 2)
    try await phone.answer(.deny, to: try #require(try await phone.list().first))
    #expect(try await outcome(change) == "CHANGE_DENIED")
    #expect(try await other.list().isEmpty)
    #expect(try await listed().isEmpty)
  }

  @Test func otherDigitsChangeNothing() async throws {
    let phone = try await TestPhone.administrator(in: fixture, "ada", .admin)
    let change = try await asked(change())
    let wrong = change.code.exposedValue == "00" ? "01" : "00"
    try await phone.answer(.approve, to: try #require(try await phone.list().first), code: wrong)
    #expect(try await outcome(change) == "CHANGE_CODE_WRONG")
    #expect(try await listed().isEmpty)
  }

  @Test func nobodyAnswers() async throws {
    _ = try await TestPhone.administrator(in: fixture, "ada", .admin)
    let change = try await asked(change())
    fixture.clock.advance(seconds: 120)
    #expect(try await outcome(change) == "CHANGE_NOT_ANSWERED")
  }

  @Test func anApprovalThatNobodyFetchesInTimeIsOver() async throws {
    let phone = try await TestPhone.administrator(in: fixture, "ada", .admin)
    let change = try await asked(change())
    try await approve(change, by: phone)
    fixture.clock.advance(seconds: 120)
    #expect(try await outcome(change) == "CHANGE_NOT_ANSWERED")
    #expect(try await listed().isEmpty)
  }

  @Test(arguments: [
    (UserChangeRequest.Act.add, AdministratorRole.helpdesk, false), (.remove, .helpdesk, false),
    (.enroll, .helpdesk, true), (.enroll, .auditor, false), (.add, .auditor, false),
  ])
  func rolesAreTheConsoles(_ act: UserChangeRequest.Act, _ role: AdministratorRole, _ isAsked: Bool) async throws {
    try await list("bob")
    let phone = try await TestPhone.administrator(in: fixture, "ada", role)
    #expect(try await outcome(change(act)) == (isAsked ? "waiting" : "NO_ADMINISTRATOR"))
    #expect(try await phone.list().isEmpty != isAsked)
  }

  @Test func anAdministratorWhoIsNoLongerOneChangesNothing() async throws {
    let phone = try await TestPhone.administrator(in: fixture, "ada", .admin)
    _ = try await TestPhone.administrator(in: fixture, "bo", .admin)
    let change = try await asked(change())
    try await approve(change, by: phone)
    _ = try await storage.setAdministrator("ada", role: .auditor, keepsOne: true, at: fixture.clock.now)
    #expect(try await outcome(change) == "waiting")
    #expect(try await listed().isEmpty)
  }

  @Test func withoutAdministratorsPhonesItIsSaidAtOnce() async throws {
    #expect(try await outcome(change()) == "NO_ADMINISTRATOR")
    _ = try await storage.addAdministrator("ada", role: .admin, at: fixture.clock.now)
    #expect(try await outcome(change()) == "NO_ADMINISTRATOR")
  }

  @Test func aSecondChangeWaitsForTheFirstOne() async throws {
    _ = try await TestPhone.administrator(in: fixture, "ada", .admin)
    _ = try await asked(change())
    #expect(try await outcome(change(.add, ["eve"], id: "b")) == "ADMINISTRATOR_BUSY")
  }

  @Test func aWithdrawnChangeIsNotOnThePhoneAnyMore() async throws {
    let phone = try await TestPhone.administrator(in: fixture, "ada", .admin)
    let first = try await asked(change())
    let withdrawn = change(asks: first.asks, isWithdrawn: true)
    #expect(try await send(withdrawn).reply.status == 200)
    #expect(try await phone.list().isEmpty)
    let second = try await asked(change(id: "b"))
    try await approve(second, by: phone)
    #expect(try await outcome(second) == "done by ada")
    #expect(try await send(change(id: "b", asks: second.asks, isWithdrawn: true)).reply.reason == "CHANGE_USED")
  }

  @Test func removingEndsAUserWithThePhone() async throws {
    try await list("bob")
    let phone = try await TestPhone.administrator(in: fixture, "ada", .admin)
    let change = try await asked(change(.remove))
    #expect(try await phone.list().first?.context.command == "remove bob, with their phones")
    try await approve(change, by: phone)
    #expect(try await outcome(change) == "done by ada")
    #expect(try await listed().isEmpty)
  }

  @Test func aLinkIsSealedForTheComputer() async throws {
    try await list("bob")
    let phone = try await TestPhone.administrator(in: fixture, "ada", .helpdesk)
    let change = try await asked(change(.enroll))
    try await approve(change, by: phone)
    let (reply, asked) = try await send(change)
    guard case .done("ada", let sealed?) = try UserChangeReply(parsing: reply.body) else {
      Issue.record("no link")
      return
    }
    let header = try #require(asked.headers.first { $0.name == Dialect.authenticationHeader })
    let nonce = try #require(UnverifiedAuthentication(header: header.value)?.nonce)
    let link = try #require(LinkSeal(secret: desk.secret, nonce: nonce).opened(sealed))
    #expect(link.hasPrefix(Fixture.origin + "/register/"))
    let code = Secret(String(link.split(separator: "/").last ?? ""))
    #expect(try await TestPhone.register(in: fixture, code: code).status == 200)
    #expect(try await outcome(self.change(.enroll, id: "b")) == "HAS_MOBILE_DEVICE")
  }

  @Test func whatCannotBeDoneRingsNobody() async throws {
    let phone = try await TestPhone.administrator(in: fixture, "ada", .admin)
    #expect(try await outcome(change(.remove)) == "UNKNOWN_USER")
    #expect(try await outcome(change(.enroll)) == "UNKNOWN_USER")
    #expect(try await outcome(change(.add, ["root"])) == "USER_NAME_NOT_FIT")
    #expect(try await outcome(change(groups: ["-x"])) == "GROUP_NAME_NOT_FIT")
    #expect(try await phone.list().isEmpty)
  }

  @Test func onlyAComputerOfItsOwnMayAskAndOnlySigned() async throws {
    _ = try await TestPhone.administrator(in: fixture, "ada", .admin)
    #expect(try await send(change(), digest: false).reply.status == 400)
    let body = change().encoded()
    let item = BodyDigest.item(for: body)
    let target = "/authentication/user_change/\(fixture.application.id)?\(item.0)=\(item.1)"
    let reply = await fixture.respond(try fixture.signed("POST", target, body))
    #expect((reply.status, reply.reason) == (403, "HOST_CREDENTIAL_REQUIRED"))
    _ = try await storage.setDisabled(true, of: fixture.application.id, at: fixture.clock.now)
    #expect(try await outcome(change()) == "APPLICATION_DISABLED")
  }

  @Test(arguments: [
    #"{"change":"a","act":"add","users":["bob"],"asker":"alice"}"#,
    #"{"change":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","act":"wipe","users":["bob"],"asker":"alice"}"#,
    #"{"change":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","act":"add","users":[],"asker":"alice"}"#,
    #"{"change":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","act":"add","users":["bob to wheel"],"asker":"alice"}"#,
    #"{"change":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","act":"add","users":["bob"],"asker":"a lice"}"#,
    #"{"change":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","act":"remove","users":["bob"],"groups":[],"asker":"alice"}"#,
    #"{"change":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","act":"enroll","users":["bob","eve"],"asker":"alice"}"#,
    #"{"change":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","act":"add","users":["bob"],"asker":"alice","asks":["x"]}"#,
  ])
  func whatAPhoneCouldNotShowIsRefused(_ body: String) {
    #expect(throws: MessageError.self) { try UserChangeRequest(parsing: Array(body.utf8)) }
  }
}
