import CHost
import HostState
import HostSystem
import IAMPASSClient
import Testing

@testable import SessionHelper
@testable import WorkerLink

@Suite struct LogindEventsTests {
  private func bus() throws -> ScriptedBus {
    try ScriptedBus { call in call.member == "GetSession" ? .values([.path("/x")]) : .values([]) }
  }

  /// Waits as a loop would, until this many events have come.
  private func events(_ count: Int, of logind: SystemBusLogind) -> [LogindEvent] {
    var events: [LogindEvent] = []
    let end = MonotonicInstant.now().advanced(milliseconds: 30_000)
    while events.count < count, MonotonicInstant.now() < end {
      let until = min(end, logind.deadline ?? end)
      var entry = pollfd(
        fd: logind.descriptor, events: Int16(truncatingIfNeeded: logind.interest), revents: 0)
      _ = poll(&entry, 1, Int32(max(0, until.milliseconds(since: .now()))))
      events += logind.events()
    }
    return events
  }

  @Test func tellsWhatLogindTellsEveryone() throws {
    let bus = try bus()
    let logind = SystemBusLogind(address: bus.address, bound: 30_000)
    #expect(events(1, of: logind) == [.reconnected])
    bus.emit("SessionRemoved", [.string("3"), .path("/org/freedesktop/login1/session/_33")])
    bus.emit("PrepareForSleep", [.bool(true)])
    bus.emit("PrepareForSleep", [.bool(false)])
    #expect(
      events(3, of: logind) == [.sessionRemoved("3"), .preparesForSleep(true), .preparesForSleep(false)])
    bus.stop()
  }

  @Test func aNewLogindMeansThatSignalsMayHaveBeenMissed() throws {
    let bus = try bus()
    let logind = SystemBusLogind(address: bus.address, bound: 30_000)
    #expect(events(1, of: logind) == [.reconnected])
    func owner(_ name: String, _ old: String, _ new: String) {
      bus.emit("NameOwnerChanged", of: "org.freedesktop.DBus", [.string(name), .string(old), .string(new)])
    }
    owner("org.freedesktop.login1", ":1.7", "")
    owner("org.example", "", ":1.9")
    owner("org.freedesktop.login1", "", ":1.8")
    bus.emit("PrepareForSleep", [.bool(true)])
    #expect(events(2, of: logind) == [.reconnected, .preparesForSleep(true)])
    bus.stop()
  }

  @Test func whatIsSentToUsAloneIsNotLogindS() throws {
    let bus = try bus()
    let logind = SystemBusLogind(address: bus.address, bound: 30_000)
    #expect(events(1, of: logind) == [.reconnected])
    bus.emit("SessionRemoved", [.string("3"), .path("/x")], to: ":1.42")
    bus.emit("PrepareForSleep", [.bool(false)], to: ":1.42")
    bus.emit("PrepareForSleep", [.bool(true)])
    #expect(events(1, of: logind) == [.preparesForSleep(true)])
    bus.stop()
  }

  @Test func aLostBusIsTakenUpAgainAndSaidOnce() throws {
    let bus = try bus()
    let logind = SystemBusLogind(address: bus.address, bound: 30_000, firstPause: 1)
    #expect(events(1, of: logind) == [.reconnected])
    bus.drop()
    #expect(events(1, of: logind) == [.reconnected])
    bus.emit("SessionRemoved", [.string("3"), .path("/x")])
    #expect(events(1, of: logind) == [.sessionRemoved("3")])
    #expect(logind.failure == nil)
    bus.stop()
  }

  @Test func signalsDuringACallAreNotLostAndNeedNoDescriptor() throws {
    let bus = try bus()
    let logind = SystemBusLogind(address: bus.address, bound: 30_000)
    #expect(events(1, of: logind) == [.reconnected])
    bus.emit("SessionRemoved", [.string("3"), .path("/x")])
    // The signal comes before one of the replies.
    func isLeft() -> Bool { logind.deadline.map { $0 <= .now() } ?? false }
    for _ in 0..<1_000 where !isLeft() { try logind.terminateSession("4") }
    #expect(isLeft())
    #expect(logind.events() == [.sessionRemoved("3")])
    bus.stop()
  }

  @Test func isNotThereBeforeTheBusKnowsWhatWeWant() throws {
    let bus = try ScriptedBus { _ in .error("org.freedesktop.DBus.Error.LimitsExceeded") }
    let logind = SystemBusLogind(address: bus.address, bound: 5_000, firstPause: 60_000)
    #expect(throws: LogindError.notReached("match rule refused")) { try logind.terminateSession("3") }
    #expect(logind.events() == [])
    bus.stop()
  }
}
