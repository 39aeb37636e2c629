import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// The contract of administrators, their browsers and their acts, which each engine keeps.
@Suite struct StorageAdministratorTests {
  @Test(arguments: StorageEngine.allCases) func rolesAreStoredAndChanged(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    _ = try await room.administratorPhone(of: "ada")
    #expect(try await room.storage.addAdministrator("bo", role: .auditor, at: room.now) == .done)
    #expect(try await room.storage.addAdministrator("bo", role: .admin, at: room.now) == .nameTaken)
    #expect(try await room.storage.addAdministrator("console link", role: .admin, at: room.now) == .nameNotFit)
    #expect(
      try await room.storage.setAdministrator("bo", role: .helpdesk, keepsOne: true, at: room.now) == .done)
    #expect(try await room.storage.setAdministrator("cy", role: .helpdesk, keepsOne: true, at: room.now) == .unknown)
    let all = try await room.storage.administrators()
    #expect(all.map(\.name) == ["ada", "bo"] && all.map(\.role) == [.admin, .helpdesk])
    #expect(all.map { $0.phone != nil } == [true, false])
    #expect(try await room.storage.removeAdministrator("bo", keepsOne: true, at: room.now) == .done)
    let told = try await room.storage.auditEntries(after: 0, limit: 1_000).filter {
      $0.event.hasPrefix("administrator")
    }
    #expect(
      told.map(\.event) == [
        "administrator added", "administrator added", "administrator changed", "administrator removed",
      ])
    #expect(
      told.map { $0["reason"] ?? "" } == [
        "role=admin", "role=auditor", "role=helpdesk was=auditor", "role=helpdesk",
      ])
  }

  @Test(arguments: StorageEngine.allCases) func theLastAdminStays(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    for name in ["ada", "bo"] { _ = try await room.storage.addAdministrator(name, role: .admin, at: room.now) }
    let wins = try await room.wins { connection, number in
      let name = number % 4 < 2 ? "ada" : "bo"
      return (try? await connection.setAdministrator(name, role: .auditor, keepsOne: true, at: room.now)) == .done
    }
    #expect(wins >= 1)
    #expect(try await room.storage.administrators().count { $0.role == .admin } == 1)
    let last = try #require(try await room.storage.administrators().first { $0.role == .admin }).name
    #expect(try await room.storage.removeAdministrator(last, keepsOne: true, at: room.now) == .lastAdmin)
    // The command may: a one-time link still opens the console.
    #expect(try await room.storage.removeAdministrator(last, keepsOne: false, at: room.now) == .done)
  }

  @Test(arguments: StorageEngine.allCases)
  func whoeverHasTheApplicationsNameIsNobody(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let former = try await room.storage.createApplication(named: "administrators", matchCodes: .on, at: room.now)
    _ = try await room.storage.addUsers(["ada"], to: former.id)
    #expect(try await room.storage.administrators() == [])
    _ = try await room.storage.addAdministrator("bo", role: .admin, at: room.now)
    // Whoever had its secret could otherwise make a link for an administrator's phone.
    #expect(try await room.storage.application(former.id)?.secret != former.secret)
    #expect(try await room.storage.administrators().map(\.name) == ["bo"])
  }

  @Test(arguments: StorageEngine.allCases)
  func oneOfManyBrowsersThatUseAnApprovalAtOnceEnters(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let ask = try await room.approvedAsk(of: "ada")
    let now = room.now
    let wins = try await room.wins { connection, number in
      (try? await connection.enterConsole(asked: ask, key: Secret("key \(number)"), from: .unknown, at: now)) != nil
    }
    #expect(wins == 1)
  }

  @Test(arguments: StorageEngine.allCases)
  func aVisitEndsWithRoleSessionAndPhone(_ engine: StorageEngine) async throws {
    for end in ["role", "session", "phone", "user"] {
      let room = try await StorageFixture(engine)
      let ask = try await room.approvedAsk(of: "ada")
      let key = Secret("key")
      let session = try #require(
        try await room.storage.enterConsole(asked: ask, key: key, from: .unknown, at: room.now))
      #expect(try await room.storage.consoleVisit(key, at: room.now)?.administrator?.role == .admin)
      switch end {
      case "role": _ = try await room.storage.removeAdministrator("ada", keepsOne: false, at: room.now)
      case "session": _ = try await room.storage.logOut(session.id, at: room.now)
      case "phone": _ = try await room.storage.invitation(ofAdministrator: "ada", isLost: true, at: room.now)
      default: _ = try await room.storage.deleteUsers(["ada"], of: session.application, at: room.now)
      }
      #expect(try await room.storage.consoleVisit(key, at: room.now) == nil, "\(end)")
    }
  }

  @Test(arguments: StorageEngine.allCases)
  func anApprovalOfSomethingElseOpensNoConsole(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    _ = try await room.administratorPhone(of: "alice")
    // The same name, in an application whose computers may say anything.
    let session = try await room.approved(by: room.phone())
    let key = Secret("ask")
    _ = try await room.storage.keep(
      ConsoleSignInRequest(key: key, session: session.id, matchCode: Secret(""), askedAt: room.now), at: room.now)
    #expect(try await room.storage.enterConsole(asked: key, key: Secret("key"), from: .unknown, at: room.now) == nil)
  }

  @Test(arguments: StorageEngine.allCases)
  func aBrowserHasItsPlaceAlsoOnceAllAreTaken(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let (key, now) = (Secret("ask"), room.now)
    let place = ConsoleSignInRequest(key: key, session: nil, matchCode: Secret(""), askedAt: now)
    #expect(try await room.storage.keep(place, at: now))
    try await room.storage.takeAllPlaces(at: now)
    let ask = ConsoleSignInRequest(key: key, session: "5e55", matchCode: Secret("47"), askedAt: now)
    #expect(try await room.storage.keep(ask, at: now))
    let kept = try #require(try await room.storage.consoleRequest(key, at: now))
    #expect(kept.session == "5e55" && kept.matchCode.exposedValue == "47")
    let other = ConsoleSignInRequest(key: Secret("other"), session: "5e55", matchCode: Secret("47"), askedAt: now)
    #expect(try await room.storage.keep(other, at: now) == false)
  }

  @Test(arguments: StorageEngine.allCases) func anActIsSignedInTheAudit(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let act = ConsoleAct(administrator: "ada", approval: "5e55", seen: nil)
    try await ConsoleAct.$current.withValue(act) { _ = try await room.addUser("bob") }
    _ = try await room.addUser("carol")
    let told = try await room.storage.auditEntries(after: 0, limit: 1_000).suffix(2)
    #expect(told.map { $0["administrator"] } == ["ada", nil])
    #expect(told.map { $0["approval"] } == ["5e55", nil])
  }

  @Test(arguments: StorageEngine.allCases) func oneOfManyActsOnOneStateIsDone(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let subject = ConsoleSubject.application(room.application.id)
    let seen = SeenState(subject: subject, state: try await room.storage.state(of: subject))
    let wins = try await room.wins { connection, number in
      let act = ConsoleAct(administrator: "ada", approval: nil, seen: seen)
      let done: Void? = try? await ConsoleAct.$current.withValue(act) {
        try await connection.changeSettings(of: room.application.id) { $0.answerTime = Int64(20 + number) }
      }
      return done != nil
    }
    #expect(wins == 1)
  }

  @Test(arguments: StorageEngine.allCases)
  func whatIsMeantForALostPhoneIsNotDoneToTheNextOne(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    _ = try await room.administratorPhone(of: "ada")
    let subject = ConsoleSubject.administrator("ada")
    let seen = SeenState(subject: subject, state: try await room.storage.state(of: subject))
    let act = ConsoleAct(administrator: "bo", approval: nil, seen: seen)
    let first = try await ConsoleAct.$current.withValue(act) {
      try await room.storage.invitation(ofAdministrator: "ada", isLost: true, at: room.now)
    }
    guard case .code(let code) = first else { throw StorageFixture.NotStarted() }
    _ = try await room.storage.register(
      try StorageFixture.newPhone(), by: code, at: room.now, deciding: StorageFixture.unusedLink
    ).get()
    await #expect(throws: ChangedMeanwhile.self) {
      _ = try await ConsoleAct.$current.withValue(act) {
        try await room.storage.invitation(ofAdministrator: "ada", isLost: true, at: room.now)
      }
    }
    #expect(try await room.storage.administrators().first?.phone != nil)
  }
}

extension ConsoleStore {
  /// Takes what places are left for browsers that ask to sign in.
  func takeAllPlaces(of network: String = ClientAddress.unknown.widerNetwork, at now: UnixTime) async throws {
    var isTaken = true
    while isTaken {
      let key = Secret(try RandomValue.identifier())
      isTaken = try await keep(
        ConsoleSignInRequest(key: key, session: nil, matchCode: Secret(""), askedAt: now, network: network), at: now)
    }
  }
}
