import CHost
import HostState
import HostSystem
import IAMPASSClient
import Testing

@testable import SessionHelper
@testable import WorkerLink

/// What the watch concludes from a session's files, its control groups and a scripted bus.
@Suite struct SystemBusLogindTests {
  private typealias Value = ScriptedBus.Value

  private let files: ScratchFolder
  private static let unknown = ScriptedBus.Answer.error("org.freedesktop.login1.NoSuchSession")

  init() throws { files = try ScratchFolder() }

  /// In milliseconds: long enough for an answer that comes.
  private func logind(_ bus: ScriptedBus?, bound: Int64 = 5_000) -> SystemBusLogind {
    SystemBusLogind(
      address: bus?.address ?? "unix:path=\(files.path)/no-bus", sessions: files.path + "/sessions",
      hierarchy: files.path, bound: bound, firstPause: 1)
  }

  private func bus(_ answers: [String: ScriptedBus.Answer]) throws -> ScriptedBus {
    try ScriptedBus { call in call.member == "AddMatch" ? .values([]) : answers[call.member] ?? .silence }
  }

  private static func properties(id: String = "3", type: String = "tty", state: String = "active") -> Value {
    func entry(_ name: String, _ contents: String, _ value: Value) -> Value {
      .entry("sv", [.string(name), .variant(contents, value)])
    }
    return .array(
      "{sv}",
      [
        entry("Id", "s", .string(id)), entry("User", "(uo)", .structure("uo", [.unsigned(1_000), .path("/u")])),
        entry("Name", "s", .string("alice")), entry("Leader", "u", .unsigned(42)),
        entry("Seat", "(so)", .structure("so", [.string("seat0"), .path("/s")])),
        entry("Class", "s", .string("user")), entry("Type", "s", .string(type)), entry("Remote", "b", .bool(false)),
        entry("Scope", "s", .string("session-3.scope")), entry("State", "s", .string(state)),
        entry("IdleHint", "b", .bool(false)), entry("Service", "s", .string("sddm")),
      ])
  }

  private func known(_ properties: Value) -> [String: ScriptedBus.Answer] {
    ["GetSession": .values([.path("/session/_33")]), "GetAll": .values([properties])]
  }

  // MARK: Whether a session is there

  @Test func aSessionWithAFileIsThereWithoutABus() throws {
    try files.write("sessions/3", "UID=1000\nLEADER=42\nCLASS=user\nTYPE=tty\nREMOTE=1\nSCOPE=session-3.scope\n")
    #expect(logind(nil).session("3") == .there(someSession()))
  }

  @Test func aSessionWithoutAFileIsAskedFor() throws {
    let bus = try bus(known(Self.properties(type: "wayland", state: "closing")))
    let expected = LogindSession(
      id: "3", leader: 42, uid: 1_000, sessionClass: "user", type: "wayland", isRemote: false, seat: "seat0",
      scope: "session-3.scope", isClosing: true, service: "sddm")
    #expect(logind(bus).session("3") == .there(expected))
    #expect(bus.calls.first == ScriptedBus.Call(member: "GetSession", texts: ["3"]))
    bus.stop()
  }

  @Test func isGoneWhereLogindKnowsNoneAndNothingRuns() throws {
    let bus = try bus(["GetSession": Self.unknown])
    #expect(logind(bus).session("3") == .gone)
    bus.stop()
  }

  @Test func isNotGoneWhereItsProcessesRunOn() throws {
    let bus = try bus(["GetSession": Self.unknown])
    try files.write("user.slice/user-1000.slice/session-3.scope/cgroup.procs", "7\n")
    try files.write("user.slice/user-1000.slice/session-4.scope/cgroup.procs", "")
    #expect(isUnclear(logind(bus).session("3")))
    #expect(logind(bus).session("4") == .gone)
    bus.stop()
  }

  @Test func isNotGoneWhereItsProcessesCannotBeSeen() throws {
    let bus = try bus(["GetSession": Self.unknown])
    let logind = SystemBusLogind(address: bus.address, sessions: files.path, hierarchy: nil)
    #expect(isUnclear(logind.session("3")))
    bus.stop()
  }

  @Test(arguments: [
    "org.freedesktop.DBus.Error.NoReply", "org.freedesktop.DBus.Error.ServiceUnknown",
    "org.freedesktop.DBus.Error.AccessDenied", "org.freedesktop.DBus.Error.UnknownObject",
    "org.freedesktop.DBus.Error.Spawn.ChildExited", "org.freedesktop.systemd1.NoSuchUnit",
    "org.freedesktop.login1.NoSuchUser",
  ])
  func isNotGoneForAnyOtherError(_ name: String) throws {
    let bus = try bus(["GetSession": .error(name)])
    #expect(isUnclear(logind(bus).session("3")))
    bus.stop()
  }

  @Test func isNotGoneWithoutABus() {
    #expect(isUnclear(logind(nil).session("3")))
  }

  @Test func isNotGoneIfItGoesDuringTheLook() throws {
    let bus = try bus([
      "GetSession": .values([.path("/session/_33")]), "GetAll": .error("org.freedesktop.DBus.Error.UnknownObject"),
    ])
    #expect(isUnclear(logind(bus).session("3")))
    bus.stop()
  }

  @Test func anothersPropertiesAreNotBelieved() throws {
    let bus = try bus(known(Self.properties(id: "4")))
    #expect(isUnclear(logind(bus).session("3")))
    bus.stop()
  }

  @Test(arguments: [Value.array("{sv}", []), .string("x"), .array("s", [.string("x")])])
  private func propertiesOfAnotherShapeAreNotBelieved(_ value: Value) throws {
    let bus = try bus(known(value))
    #expect(isUnclear(logind(bus).session("3")))
    bus.stop()
  }

  private func isUnclear(_ sight: SessionSight) -> Bool {
    if case .unclear = sight { true } else { false }
  }

  // MARK: What is asked for

  @Test func wordsForTheCallersOwnSessionAreNeverSent() throws {
    let bus = try bus(["TerminateSession": .values([]), "LockSession": .values([])])
    let logind = logind(bus)
    for id in ["", "self", "auto", "../3"] {
      #expect(throws: LogindError.refused("not a session's id")) { try logind.terminateSession(id) }
      #expect(throws: LogindError.refused("not a session's id")) { try logind.lockSession(id) }
      #expect(isUnclear(logind.session(id)))
    }
    #expect(bus.calls == [])
    bus.stop()
  }

  @Test func endsAndLocksTheNamedSession() throws {
    let bus = try bus([
      "TerminateSession": .values([]), "LockSession": .values([]), "GetSession": .values([.path("/session/_33")]),
      "Get": .values([.variant("b", .bool(true))]),
    ])
    let logind = logind(bus)
    try logind.terminateSession("3")
    try logind.lockSession("4")
    #expect(try logind.lockedHint("4"))
    #expect(bus.calls.map(\.member) == ["TerminateSession", "LockSession", "GetSession", "Get"])
    #expect(bus.calls.map(\.texts) == [["3"], ["4"], ["4"], ["org.freedesktop.login1.Session", "LockedHint"]])
    bus.stop()
  }

  @Test func killsAScopeAndStopsAManager() throws {
    let bus = try bus(["KillUnit": .values([]), "StopUnit": .values([.path("/job")])])
    try logind(bus).endUnit("session-3.scope")
    try logind(bus).killUnit("session-3.scope")
    try logind(bus).stopUnit("user@1000.service")
    #expect(
      bus.calls.map(\.texts) == [
        ["session-3.scope", "all", "15"], ["session-3.scope", "all", "9"], ["user@1000.service", "fail"],
      ])
    bus.stop()
  }

  @Test func touchesNoOtherUnit() throws {
    let bus = try bus(["KillUnit": .values([]), "StopUnit": .values([.path("/job")])])
    for unit in ["ssh.service", "user.slice", "init.scope", ""] {
      #expect(throws: LogindError.self) { try logind(bus).endUnit(unit) }
      #expect(throws: LogindError.self) { try logind(bus).killUnit(unit) }
      #expect(throws: LogindError.self) { try logind(bus).stopUnit(unit) }
    }
    #expect(throws: LogindError.self) { try logind(bus).killUnit("user@1000.service") }
    #expect(throws: LogindError.self) { try logind(bus).stopUnit("session-3.scope") }
    #expect(bus.calls == [])
    bus.stop()
  }

  @Test func aMissingUnitIsNotAnError() throws {
    let gone = ScriptedBus.Answer.error("org.freedesktop.systemd1.NoSuchUnit")
    let bus = try bus(["KillUnit": gone, "StopUnit": gone])
    try logind(bus).killUnit("session-3.scope")
    try logind(bus).stopUnit("user@1000.service")
    bus.stop()
  }

  @Test func listsOnlyTheUsersOwnSignIns() throws {
    func file(_ id: String, _ rest: String) throws {
      try files.write("sessions/" + id, "UID=1000\nLEADER=42\n" + rest)
    }
    try file("3", "CLASS=user\nSTATE=active\n")
    try file("5", "CLASS=user\nSTATE=closing\n")
    try file("6", "CLASS=manager\nSTATE=active\n")
    let rows = [("3", 1_000), ("4", 1_001), ("5", 1_000), ("6", 1_000), ("7", 1_000)].map { id, uid -> Value in
      .structure("susso", [.string(id), .unsigned(UInt32(uid)), .string("name"), .string(""), .path("/x")])
    }
    // The state of 7 is unknown, so that it counts.
    let bus = try bus([
      "ListSessions": .values([.array("(susso)", rows)]),
      "GetSession": .error("org.freedesktop.DBus.Error.AccessDenied"),
    ])
    #expect(try logind(bus).sessions(of: 1_000) == ["3", "7"])
    bus.stop()
  }

  @Test func aListOfAnotherShapeIsNotAnEmptyOne() throws {
    let bus = try bus(["ListSessions": .values([.array("s", [])])])
    #expect(throws: LogindError.self) { try logind(bus).sessions(of: 1_000) }
    bus.stop()
  }

  // MARK: A bus that does not answer

  @Test func aSilentBusCostsOneBoundAndThenNothing() throws {
    let bus = try bus([:])
    let logind = SystemBusLogind(address: bus.address, sessions: files.path, bound: 3_000, firstPause: 60_000)
    let begin = MonotonicInstant.now()
    #expect(throws: LogindError.notReached("no answer in time")) { try logind.terminateSession("3") }
    for _ in 0..<100 {
      #expect(throws: LogindError.notReached("no answer in time")) { try logind.terminateSession("3") }
    }
    // A hundred such limits would be 300 s.
    #expect(MonotonicInstant.now().milliseconds(since: begin) < 30_000)
    #expect(bus.calls.count == 1)
    #expect(logind.descriptor == -1)
    bus.stop()
  }

  @Test func aBusThatDoesNotGreetIsGivenUp() throws {
    let bus = try ScriptedBus { _ in .silence }
    let logind = SystemBusLogind(address: bus.address, sessions: files.path, bound: 300, firstPause: 60_000)
    #expect(throws: LogindError.notReached("no greeting from the bus")) { try logind.terminateSession("3") }
    #expect(logind.failure == .notReached("no greeting from the bus"))
    bus.stop()
  }

  @Test func eventsNeverWait() throws {
    let bus = try ScriptedBus { _ in .silence }
    let logind = SystemBusLogind(address: bus.address, sessions: files.path, bound: 60_000)
    let begin = MonotonicInstant.now()
    for _ in 0..<100 { #expect(logind.events() == []) }
    #expect(MonotonicInstant.now().milliseconds(since: begin) < 20_000)
    bus.stop()
  }

  @Test func anErrorKeepsTheConnection() throws {
    let bus = try bus(["TerminateSession": .error("org.freedesktop.DBus.Error.NoReply")])
    let logind = logind(bus)
    #expect(throws: LogindError.notReached("org.freedesktop.DBus.Error.NoReply: ")) {
      try logind.terminateSession("3")
    }
    #expect(logind.descriptor >= 0)
    bus.stop()
  }
}
