import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// The contract of codes and joins, which each engine keeps.
@Suite struct StorageJoinTests {
  private static func secret(_ number: Int) -> Secret {
    Secret(Base64.encode(Array(repeating: UInt8(number), count: 24)))
  }

  private func make(
    _ code: Secret = Secret("code"), uses: Int = 1, days: Int = 1, isUnattended: Bool = true, in room: StorageFixture
  ) async throws -> StoredJoinCode {
    try await room.storage.createJoinCode(
      JoinOrder(application: "shop", secret: code, uses: uses, days: days, isUnattended: isUnattended), at: room.now)
  }

  /// What becomes of an ask, in a word.
  private func join(
    _ name: String = "desk-7", _ number: Int = 1, by code: Secret = Secret("code"), in room: StorageFixture,
    on connection: (any ServiceStorage)? = nil
  ) async throws -> String {
    let request = JoinRequest(code: code, name: name, secret: Self.secret(number))
    let verdict = try await (connection ?? room.storage).join(
      ReceivedJoinRequest(request: request, address: "192.0.2.7"), at: room.now)
    switch verdict {
    case .joined(let credential, let application, _):
      #expect(application == "shop")
      #expect((credential.name, credential.host) == (name, name))
      #expect(try await room.storage.signInClient(credential.id)?.secret == request.secret)
      return "joined"
    case .waiting: return "waiting"
    case .refused(let reason): return reason.rawValue
    }
  }

  @Test(arguments: StorageEngine.allCases) func aCodeMakesACredential(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    _ = try await make(in: room)
    #expect(try await join(in: room) == "joined")
    let made = try #require(try await room.storage.application(room.application.id, usersAfter: 0)?.credentials.first)
    #expect(try await room.storage.signInClient(made.id)?.secret == Self.secret(1))
    #expect(try await room.events().suffix(4).contains("computer joined"))
  }

  @Test(arguments: StorageEngine.allCases) func theSameAskAgainMakesNoOther(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let code = try await make(in: room)
    #expect(try await join(in: room) == "joined")
    #expect(try await join(in: room) == "joined")
    // Also when nobody else could use it any more.
    _ = try await room.storage.revokeJoinCode(code.id, at: room.now)
    #expect(try await join(in: room) == "joined")
    #expect(try await room.storage.application(room.application.id, usersAfter: 0)?.credentials.count == 1)
  }

  @Test(arguments: StorageEngine.allCases)
  func aCodeServesAsOftenAsItSays(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    _ = try await make(uses: 2, in: room)
    #expect(try await join("a", 1, in: room) == "joined")
    #expect(try await join("b", 2, in: room) == "joined")
    #expect(try await join("c", 3, in: room) == "JOIN_CODE_USED")
  }

  @Test(arguments: StorageEngine.allCases)
  func noMoreComputersJoinAtOnceThanTheCodeSays(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    _ = try await make(uses: 3, in: room)
    let wins = try await room.wins { connection, number in
      (try? await join("desk-\(number)", number, in: room, on: connection)) == "joined"
    }
    #expect(wins == 3)
  }

  @Test(arguments: StorageEngine.allCases)
  func lateRevokedAndUnknownCodesAreToldApart(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let code = try await make(in: room)
    #expect(try await join(by: Secret("other"), in: room) == "UNKNOWN_JOIN_CODE")
    #expect(try await room.storage.revokeJoinCode(code.id, at: room.now))
    #expect(try await join(in: room) == "JOIN_CODE_REVOKED")
    _ = try await make(Secret("second"), in: room)
    room.clock.advance(seconds: 86_399)
    #expect(try await join("a", 2, by: Secret("second"), in: room) == "joined")
    _ = try await make(Secret("third"), in: room)
    room.clock.advance(seconds: 86_400)
    #expect(try await join("b", 3, by: Secret("third"), in: room) == "JOIN_CODE_EXPIRED")
    #expect(try await room.storage.revokeJoinCode("nobody's", at: room.now) == false)
  }

  @Test(arguments: StorageEngine.allCases)
  func twoComputersOfOneNameAreToldApart(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    _ = try await make(uses: 9, in: room)
    _ = try await make(Secret("asking"), uses: 9, isUnattended: false, in: room)
    #expect(try await join(in: room) == "joined")
    #expect(try await join("desk-7", 2, in: room) == "COMPUTER_NAME_TAKEN")
    #expect(try await join("desk-8", 3, by: Secret("asking"), in: room) == "waiting")
    #expect(try await join("desk-8", 4, by: Secret("asking"), in: room) == "COMPUTER_NAME_TAKEN")
    // The administrator frees the name.
    let made = try #require(try await room.storage.application(room.application.id, usersAfter: 0)?.credentials.first)
    _ = try await room.storage.revokeCredential(made.id, of: room.application.id, at: room.now)
    #expect(try await join("desk-7", 2, in: room) == "joined")
    #expect(try await join("desk-7", 1, in: room) == "CREDENTIAL_REVOKED")
  }

  @Test(arguments: StorageEngine.allCases)
  func aHostThatPhonesAreShownDoesNotTakeAnotherName(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    _ = try await make(uses: 9, in: room)
    _ = try await make(Secret("asking"), uses: 9, isUnattended: false, in: room)
    _ = try await room.storage.createHostCredential(named: "old", host: "Desk-7", of: "shop", at: room.now)
    for name in ["desk-7", "DESK-7", "Old"] {
      #expect(try await join(name, in: room) == "COMPUTER_NAME_TAKEN")
      #expect(try await join(name, by: Secret("asking"), in: room) == "COMPUTER_NAME_TAKEN")
    }
    #expect(try await join("wait", by: Secret("asking"), in: room) == "waiting")
    #expect(try await join("WAIT", 2, in: room) == "COMPUTER_NAME_TAKEN")
    // Somebody makes such a credential meanwhile.
    _ = try await room.storage.createHostCredential(named: "new", host: "WAIT", of: "shop", at: room.now)
    #expect(try await room.storage.decideJoin("wait", isApproved: true, at: room.now) == .nameTaken)
  }

  @Test(arguments: StorageEngine.allCases)
  func whoWaitsLongerThanTheCodeIsGoodForDoesNotJoin(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    _ = try await make(isUnattended: false, in: room)
    #expect(try await join(in: room) == "waiting")
    room.clock.advance(seconds: 86_400)
    #expect(try await join(in: room) == "JOIN_CODE_EXPIRED")
    #expect(try await room.storage.decideJoin("desk-7", isApproved: true, at: room.now) == .expired)
    // Its name is free.
    _ = try await make(Secret("second"), in: room)
    #expect(try await join("desk-7", 2, by: Secret("second"), in: room) == "joined")
  }

  @Test(arguments: StorageEngine.allCases)
  func aRefusedComputerUsesTheCodeUp(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    _ = try await make(isUnattended: false, in: room)
    #expect(try await join("bad", 1, in: room) == "waiting")
    _ = try await room.storage.decideJoin("bad", isApproved: false, at: room.now)
    #expect(try await join("worse", 2, in: room) == "JOIN_CODE_USED")
    #expect(try await room.storage.joinCodes().first?.isOver == true)
  }

  @Test(arguments: StorageEngine.allCases)
  func anAdministratorDecides(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    _ = try await make(uses: 9, isUnattended: false, in: room)
    #expect(try await join("good", 1, in: room) == "waiting")
    #expect(try await join("bad", 2, in: room) == "waiting")
    let waiting = try #require(try await room.storage.joinCodes().first?.joinings).sorted { $0.name > $1.name }
    #expect(waiting.map(\.mark) == [1, 2].map { JoinCode.mark(of: Self.secret($0)) })
    #expect(try await room.storage.decideJoin("good", isApproved: true, at: room.now) == .done(waiting[0]))
    #expect(try await room.storage.decideJoin(waiting[1].id, isApproved: false, at: room.now) == .done(waiting[1]))
    #expect(try await room.storage.decideJoin("good", isApproved: false, at: room.now) == .unknown)
    #expect(try await join("good", 1, in: room) == "joined")
    #expect(try await join("bad", 2, in: room) == "JOIN_REFUSED")
    #expect(
      try await room.events().filter { $0.hasPrefix("computer") } == [
        "computer asked to join", "computer asked to join", "computer joined", "computer refused",
      ])
  }

  @Test(arguments: StorageEngine.allCases)
  func whoWaitsIsRefusedWithTheCode(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let code = try await make(isUnattended: false, in: room)
    #expect(try await join(in: room) == "waiting")
    _ = try await room.storage.revokeJoinCode(code.id, at: room.now)
    #expect(try await join(in: room) == "JOIN_REFUSED")
    #expect(try await room.storage.decideJoin("desk-7", isApproved: true, at: room.now) == .unknown)
  }
}
