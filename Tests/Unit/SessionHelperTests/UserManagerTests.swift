import Testing

@testable import HostSystem
@testable import SessionHelper
@testable import WorkerLink

@Suite struct UserManagerTests {
  @Test func isStoppedAfterTheLastSession() throws {
    let logind = SeenLogind(.success([]))
    #expect(try UserManager.stopIfSignedOut(1_000, logind))
    #expect(logind.stopped == ["user@1000.service"])
  }

  @Test func isKeptForAnotherSession() throws {
    let logind = SeenLogind(.success(["4"]))
    #expect(try !UserManager.stopIfSignedOut(1_000, logind))
    #expect(logind.stopped == [])
  }

  @Test func isKeptWhereTheSessionsAreNotKnown() {
    let logind = SeenLogind(.failure(.notReached("")))
    #expect(throws: LogindError.notReached("")) { try UserManager.stopIfSignedOut(1_000, logind) }
    #expect(logind.stopped == [])
  }

  @Test(arguments: [
    ("user@1000.service", true), ("user@0.service", true), ("user@.service", false), ("user@01000.service", false),
    ("user@+1.service", false), ("user@alice.service", false), ("user@1000.slice", false), ("ssh.service", false),
    ("user-runtime-dir@1000.service", false),
  ])
  func tellsAUsersManagerFromOtherUnits(_ name: String, _ expected: Bool) {
    #expect(UserManager.isUnit(name) == expected)
  }
}

/// Lists the sessions, and remembers what it was told to stop.
private final class SeenLogind: Logind {
  let seen: Result<[String], LogindError>
  var stopped: [String] = []

  init(_ seen: Result<[String], LogindError>) { self.seen = seen }

  func sessions(of uid: UInt32) throws(LogindError) -> [String] { try seen.get() }
  func stopUnit(_ name: String) throws(LogindError) { stopped.append(name) }

  func events() -> [LogindEvent] { [] }
  func session(_ id: String) -> SessionSight { .unclear(.noSuchObject) }
  func listed() throws(LogindError) -> [ListedSession] { [] }
  func terminateSession(_ id: String) throws(LogindError) { throw .noSuchObject }
  func lockSession(_ id: String) throws(LogindError) { throw .noSuchObject }
  func lockedHint(_ id: String) throws(LogindError) -> Bool { throw .noSuchObject }
  func endUnit(_ name: String) throws(LogindError) { throw .noSuchObject }
  func killUnit(_ name: String) throws(LogindError) { throw .noSuchObject }
}
