import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// A start asks ahead for the rows of whoever its user's name meant at the last start. Only whom it means now counts.
@Suite struct StartGuessTests {
  @Test(arguments: StorageEngine.allCases)
  func aNameThatMeansANewUserRingsThatUsersPhone(_ engine: StorageEngine) async throws {
    let office = try await StorageFixture(engine)
    let former = try await office.phone()
    _ = try await office.approved(by: former)
    _ = try await office.storage.deleteUsers(["alice"], of: office.application.id, at: office.now)
    let phone = try await office.phone()
    #expect(phone.user != former.user)
    let session = try await office.started(office.ask())
    #expect(session.user == phone.user)
    guard case .failure = try await office.answer(session.id, .approve, by: former) else {
      Issue.record("a phone that has gone answered")
      return
    }
    #expect(try await office.answer(session.id, .approve, by: phone).get().answeredBy == phone.id)
  }

  @Test(arguments: StorageEngine.allCases)
  func aNameThatMeansNobodyAnyMoreRingsNoPhone(_ engine: StorageEngine) async throws {
    let office = try await StorageFixture(engine)
    _ = try await office.approved(by: try await office.phone())
    _ = try await office.storage.deleteUsers(["alice"], of: office.application.id, at: office.now)
    await #expect(throws: StorageFixture.NotStarted.self) { try await office.started(office.ask()) }
  }

  @Test(arguments: StorageEngine.allCases)
  func aPhoneThatWentAtAnotherServerIsNotRung(_ engine: StorageEngine) async throws {
    let office = try await StorageFixture(engine)
    let phone = try await office.phone()
    _ = try await office.approved(by: phone)
    // It has a memory of its own.
    let other = try office.opened()
    #expect(try await other.unregister(phone, at: office.now) != nil)
    await #expect(throws: StorageFixture.NotStarted.self) { try await office.started(office.ask()) }
  }
}
