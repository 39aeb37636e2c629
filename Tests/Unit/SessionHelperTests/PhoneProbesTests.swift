import HostState
import HostSystem
import PresenceLink
import Testing

@testable import SessionHelper

/// Which phones are looked for when, and what their pairings say.
@Suite struct PhoneProbesTests {
  @Test func oneOfTwoPhonesIsEnough() throws {
    let desk = try PresenceFixture(bound: [("alice", PresenceFixture.hers), ("alice", PresenceFixture.hersToo)])
    desk.sit()
    desk.pass(seconds: 30)
    desk.probe.finds = { $0 == PresenceFixture.hersToo ? .near : .silent }
    desk.pass(seconds: 600)
    #expect(desk.logind.locked == [])
    desk.probe.finds = { _ in .silent }
    desk.pass(seconds: 120)
    #expect(desk.logind.locked == ["1"])
  }

  @Test func anAbsentPhoneDoesNotMakeAnotherOneLookAway() throws {
    let desk = try PresenceFixture(bound: [("alice", PresenceFixture.hers), ("bob", PresenceFixture.his)])
    desk.sit()
    desk.sit(1_001, session: "2")
    desk.pass(seconds: 30)
    desk.probe.finds = { $0 == PresenceFixture.hers ? .near : .silent }
    desk.pass(seconds: 3_600)
    #expect(desk.logind.locked == ["2"])
    #expect(try desk.state() == .armed)
    #expect(try desk.state(of: "bob") == .left)
    // A page of 5.1 s may come first.
    let times = desk.probe.times(PresenceFixture.hers)
    let longest = zip(times, times.dropFirst()).map { $1 - $0 }.max() ?? .max
    #expect(longest <= 20_000 + 5_200)
    #expect(desk.probe.overlaps == 0)
  }

  @Test func aUserWithSeveralAbsentPhonesHoldsUpNobody() throws {
    let more = (4...6).map { BluetoothAddress("00:AA:01:01:00:0\($0)")! }
    let bound = [("alice", PresenceFixture.hers)] + ([PresenceFixture.his] + more).map { ("bob", $0) }
    // The rounds of both do not begin together.
    let desk = try PresenceFixture(bound: bound) { $0.presenceInterval = 12 }
    desk.sit()
    desk.sit(1_001, session: "2")
    desk.pass(seconds: 30)
    desk.probe.finds = { $0 == PresenceFixture.hers ? .near : .silent }
    desk.pass(seconds: 600)
    let times = desk.probe.times(PresenceFixture.hers)
    // One page may come first, not all four of a round.
    #expect((zip(times, times.dropFirst()).map { $1 - $0 }.max() ?? .max) <= 12_000 + 5_200)
  }

  @Test func sixteenAbsentPhonesAllCountAsGone() throws {
    let phones = (1...16).map { BluetoothAddress("00:AA:02:00:00:\($0 < 10 ? "0\($0)" : "\($0)")")! }
    let desk = try PresenceFixture(bound: phones.enumerated().map { ("user\($0.offset)", $0.element) })
    for number in 0..<16 {
      desk.logind.names[UInt32(2_000 + number)] = "user\(number)"
      desk.sit(UInt32(2_000 + number), session: "\(number)")
    }
    desk.pass(seconds: 60)
    desk.probe.finds = { _ in .silent }
    desk.pass(seconds: 600)
    #expect(Set(desk.logind.locked) == Set((0..<16).map { "\($0)" }))
  }

  @Test func aMissedPhoneIsLookedForEveryFiveSeconds() throws {
    let desk = try PresenceFixture()
    desk.sit()
    desk.pass(seconds: 21)
    #expect(desk.probe.asked.count == 2)
    desk.probe.finds = { _ in .impostor }
    desk.pass(seconds: 25)
    let times = desk.probe.times(PresenceFixture.hers).suffix(2)
    #expect(times.last.map { $0 - (times.first ?? 0) } == 5_000)
  }

  @Test func anotherKeyIsIgnoranceAndOneLine() throws {
    let desk = try PresenceFixture()
    desk.sit()
    desk.pass(seconds: 30)
    let before = desk.probe.asked.count
    desk.pair(PresenceFixture.hers, key: "b")
    desk.pass(seconds: 200)
    #expect(desk.probe.asked.count == before)
    #expect(desk.log.count("nothing is known of \(PresenceFixture.hers): it was paired again with another key") == 1)
    #expect(desk.logind.locked == [])
    desk.pass(seconds: 200)
    #expect(desk.log.count("presence user=alice: left") == 0)
    #expect(desk.log.count("blind, the last look found: unknown (key-changed)") == 1)
    #expect(desk.logind.locked == ["1"])
    desk.pair(PresenceFixture.hers)
    desk.pass(seconds: 30)
    #expect(desk.log.count("\(PresenceFixture.hers) has its pairing again") == 1)
    #expect(try desk.state() == .armed)
  }

  @Test func aPairingThatIsRemovedDuringALookIsNotAnImpostor() throws {
    let desk = try PresenceFixture { $0.onPresenceLeft = .logout }
    desk.sit()
    desk.pass(seconds: 30)
    desk.probe.finds = { _ in .impostor }
    desk.probe.onAsk = { [unowned desk] in desk.unpair(PresenceFixture.hers) }
    desk.pass(seconds: 120)
    #expect(desk.logind.terminated == [])
    #expect(try desk.state() == .doubtful)
    #expect(desk.log.count("it is not paired any more") == 1)
  }

  @Test func whoeverRemovesThePairingDuringEachLookLogsNobodyOut() throws {
    let desk = try PresenceFixture { $0.onPresenceLeft = .logout }
    desk.sit()
    // Looks begin at whole seconds, and the pairing comes back between them.
    desk.pass(seconds: 30, milliseconds: 500)
    desk.probe.finds = { _ in .impostor }
    desk.probe.onAsk = { [unowned desk] in desk.unpair(PresenceFixture.hers) }
    for _ in 0..<120 {
      desk.pair(PresenceFixture.hers)
      desk.pass(seconds: 1)
    }
    #expect(desk.probe.asked.count > 10)
    #expect(desk.logind.terminated == [])
  }

  @Test func withAuthenticatedKeysOthersAreNotLookedFor() throws {
    let desk = try PresenceFixture { $0.presenceKey = .authenticated }
    desk.pair(PresenceFixture.hers, type: 4)
    desk.sit()
    desk.pass(seconds: 60)
    #expect(desk.probe.asked.isEmpty)
    #expect(desk.log.count("nobody compared digits when it was paired") == 1)
    desk.pair(PresenceFixture.hers, type: 5)
    desk.pass(seconds: 30)
    #expect(desk.probe.asked.first?.level == .high)
    #expect(try desk.state() == .armed)
  }
}
