import Glibc
import HostState
import HostSystem
import Testing

@testable import SessionHelper
@testable import WorkerLink

/// SDDM's sessions are asked to leave before logind ends them, so that its greeter comes back.
@Suite struct SessionLeaveTests {
  /// SDDM's session of alice's, whose phone has left.
  private func left(_ prepare: (HelperFixture) -> Void = { _ in }) throws -> HelperFixture {
    let office = try HelperFixture()
    let id = try office.signIn(type: "x11", service: "sddm")
    office.pass()
    prepare(office)
    office.says("walkaway", of: id)
    begin(office)
    return office
  }

  /// Until the helper has heard it, and has done the first thing.
  private func begin(_ office: HelperFixture) {
    for _ in 0..<2_000 where office.logind.askedToEnd.isEmpty && office.logind.terminated.isEmpty {
      office.pass(milliseconds: 5)
    }
  }

  @Test func aSessionThatLeavesIsNotTerminated() throws {
    let office = try left { $0.logind.whenAsked = { $0.sessions = [:] } }
    office.pass(milliseconds: 100)
    #expect(office.logind.askedToEnd == ["session-1.scope"])
    #expect(office.log.count("logged out user=alice service=sddm") == 1)
    #expect(office.logind.stopped == ["user@1000.service"])
    office.pass(milliseconds: 10_000)
    #expect(office.logind.terminated == [] && office.logind.killed == [])
  }

  /// sddm-helper has left, and something of the session runs on.
  @Test func whatOutlivesTheLeaderIsTerminated() throws {
    let child = try Child()
    let office = try HelperFixture()
    let id = try office.signIn(type: "x11", service: "sddm") {
      $0.binding = SessionRecord.Binding(logindSession: "1", leader: child.identity)
    }
    office.logind.lead("1", by: child.identity.pid)
    office.pass()
    office.logind.whenAsked = { _ in child.end() }
    office.says("walkaway", of: id)
    begin(office)
    office.pass(milliseconds: 100)
    #expect(office.logind.askedToEnd == ["session-1.scope"])
    #expect(office.logind.terminated == ["1"])
  }

  @Test func aSessionThatStaysIsKilledAtOnce() throws {
    let office = try left { $0.seat.led = ["1"] }
    office.pass(milliseconds: 100)
    #expect(office.logind.askedToEnd == ["session-1.scope"])
    #expect(office.logind.killed == [])
    office.pass(milliseconds: 75)
    #expect(office.logind.killed == ["session-1.scope"])
    #expect(office.log.count("killed user=alice service=sddm") == 1)
  }

  @Test func aSessionThatCannotBeAskedIsTerminated() throws {
    let office = try left { $0.logind.refusesToAsk = 1 }
    #expect(office.logind.askedToEnd == [])
    #expect(office.logind.terminated == ["1"])
  }

  @Test func aSessionThatWasAskedIsNotCalledOff() throws {
    let office = try left { $0.seat.led = ["1"] }
    office.pass(milliseconds: 100)
    try office.says("active", of: #require(office.records.first))
    office.pass(milliseconds: 10_000)
    #expect(office.logind.killed.first == "session-1.scope")
  }

  @Test func otherSessionsAreTerminatedAtOnce() throws {
    let office = try HelperFixture()
    let id = try office.signIn(type: "x11", service: "lightdm")
    office.pass()
    office.says("walkaway", of: id)
    begin(office)
    #expect(office.logind.askedToEnd == [])
    #expect(office.logind.terminated == ["1"])
  }

  /// A terminal may have to pass the line on. Those of a desktop end with its screen.
  @Test(
    arguments: [("lightdm", "wayland", ["1"]), ("lightdm", "x11", ["1"]), ("sshd", "tty", [])]
      as [(String, String, [String])])
  func nobodyReadsTheLineOnADesktopThatEnds(_ service: String, _ type: String, _ terminated: [String]) throws {
    let office = try HelperFixture()
    let id = try office.signIn(type: type, service: service)
    office.pass()
    office.says("walkaway", of: id)
    for _ in 0..<2_000 where office.seat.said.isEmpty { office.pass(milliseconds: 5) }
    #expect(office.seat.said == ["1: Signed out: your phone left."])
    #expect(office.logind.terminated == terminated)
  }

  /// logind may take 2 s for each.
  @Test func manyDesktopsAreToldAtOnceAndEndInTurns() throws {
    let office = try HelperFixture()
    let logouts = SessionLogouts(
      kept: LeavingSessions(run: office.run), logind: office.logind, seat: office.seat, log: office.log)
    for number in 1...5 {
      let id = try office.signIn(
        "u\(number)", uid: UInt32(1_000 + number), session: String(number), type: "wayland", service: "lightdm")
      let record = try office.ledger.read(id)
      let binding = try #require(record.binding)
      logouts.begin(LeavingSession(record, binding), .walkaway, office.setup, 0)
    }
    #expect(office.seat.said.count == 5)
    #expect(office.logind.terminated == [])
    logouts.turn(0)
    #expect(office.logind.terminated.count == 4)
    logouts.turn(0)
    #expect(office.logind.terminated.count == 5)
  }
}

/// A process of our own that sleeps.
private final class Child {
  let identity: ProcessIdentity
  private var hasEnded = false

  init() throws {
    var pid: pid_t = 0
    var words: [UnsafeMutablePointer<CChar>?] = [strdup("/bin/sleep"), strdup("60"), nil]
    defer { for word in words { free(word) } }
    let failure = posix_spawn(&pid, "/bin/sleep", nil, nil, &words, nil)
    try #require(failure == 0)
    identity = try #require(ProcessIdentity(pid: pid))
  }

  func end() {
    guard !hasEnded else { return }
    hasEnded = true
    kill(identity.pid, SIGKILL)
    waitpid(identity.pid, nil, 0)
  }

  deinit { end() }
}
