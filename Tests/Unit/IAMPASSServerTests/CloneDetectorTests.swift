import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// Which marks show a copied computer.
@Suite struct CloneDetectorTests {
  private static func sighting(
    _ mark: String, after former: String? = nil, at address: String = "192.0.2.1", _ time: Int64 = 0,
    of credential: String = "c"
  ) -> ComputerMarkSighting {
    ComputerMarkSighting(
      credential: credential, mark: mark, former: former, address: address, signedAt: time,
      at: UnixTime(milliseconds: time))
  }

  private func mark() -> CloneDetector { CloneDetector(Self.sighting("a1")) }

  @Test func aComputerThatConnectsAgainIsTheSame() {
    var mark = mark()
    #expect(mark.take(Self.sighting("a1")) == .known)
    #expect(mark.take(Self.sighting("a2", after: "a1")) == .renewed)
    // The reply was lost: it tells the same once more.
    #expect(mark.take(Self.sighting("a2", after: "a1")) == .known)
    #expect(mark.take(Self.sighting("a2")) == .known)
    #expect(mark.fork == nil)
  }

  @Test func aComputerThatLostWhatItWroteLastIsTheSame() {
    var mark = mark()
    _ = mark.take(Self.sighting("a2", after: "a1"))
    #expect(mark.take(Self.sighting("a3", after: "a1")) == .renewed)
    #expect(mark.fork == nil)
  }

  @Test func anotherAddressIsTheSameComputer() {
    var mark = mark()
    #expect(mark.take(Self.sighting("a1", at: "198.51.100.7")) == .renewed)
    #expect((mark.address, mark.fork) == ("198.51.100.7", nil))
  }

  @Test func aCopyIsNoticedWhenTheOriginalGoesOn() {
    var mark = mark()
    #expect(mark.take(Self.sighting("b1", after: "a1", at: "203.0.113.9")) == .renewed)
    #expect(mark.take(Self.sighting("a1", at: "192.0.2.1", 5)) == .forked(isNews: true))
    #expect(mark.fork?.areBothUsed == false)
    #expect((mark.address, mark.fork?.otherAddress) == ("192.0.2.1", "203.0.113.9"))
    #expect(mark.take(Self.sighting("b1", at: "203.0.113.9", 9)) == .forked(isNews: true))
    #expect(mark.fork?.areBothUsed == true)
    #expect(mark.take(Self.sighting("a1", at: "192.0.2.1", 12)) == .forked(isNews: false))
    #expect(mark.fork?.firstAt == UnixTime(milliseconds: 5))
    #expect(mark.fork?.lastAt == UnixTime(milliseconds: 12))
  }

  @Test func aDiskThatWasPutBackIsNoticedOnceAndThenGoesOn() {
    var mark = mark()
    for number in 2...5 { _ = mark.take(Self.sighting("a\(number)", after: "a\(number - 1)")) }
    #expect(mark.take(Self.sighting("x", after: "a2")) == .forked(isNews: true))
    #expect(mark.take(Self.sighting("x")) == .known)
    #expect(mark.take(Self.sighting("y", after: "x")) == .renewed)
    #expect(mark.fork?.areBothUsed == false)
  }

  @Test func aRequestOvertakenByTheNextShowsNoCopy() {
    var mark = mark()
    #expect(mark.take(Self.sighting("a2", after: "a1", 100)) == .renewed)
    #expect(mark.take(Self.sighting("a1", 99)) == .known)
    #expect(mark.take(Self.sighting("a3", after: "a2", 200)) == .renewed)
    #expect(mark.take(Self.sighting("a2", after: "a1", 199)) == .known)
    #expect((mark.mark, mark.fork) == ("a3", nil))
    // This one was made later: somebody else still has the mark.
    #expect(mark.take(Self.sighting("a2", 200)) == .forked(isNews: true))
    #expect(mark.take(Self.sighting("a3", 202)) == .forked(isNews: true))
  }

  @Test func whatAnEarlierServerNotedOvertakesNothing() {
    var mark = CloneDetector(
      mark: "a2", previous: "a1", address: nil, seenAt: UnixTime(milliseconds: 0), broughtAt: nil, fork: nil)
    #expect(mark.take(Self.sighting("a1")) == .forked(isNews: true))
  }

  @Test(arguments: StorageEngine.allCases) func whenAMarkCameIsKept(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let desk = try await room.storage.createHostCredential(named: "desk", host: "desk", of: "shop", at: room.now)
    func sighting(_ mark: String, after former: String? = nil, _ stamp: Int64) -> ComputerMarkSighting {
      ComputerMarkSighting(
        credential: desk.id, mark: mark, former: former, address: nil, signedAt: stamp, at: room.now)
    }
    #expect(try await room.storage.renew([sighting("a1", 1), sighting("a2", after: "a1", 5)]) == [.renewed, .renewed])
    #expect(try await room.storage.isKnown(sighting("a1", 4)))
    #expect(try await room.storage.isKnown(sighting("a1", 6)) == false)
    #expect(try await room.storage.record(sighting("a1", 6)) == .forked(isNews: true))
    // What a fork brought is kept too.
    #expect(try await room.storage.record(sighting("a3", after: "a1", 9)) == .renewed)
    #expect(try await room.storage.isKnown(sighting("a1", 8)))
  }

  @Test func aComputerWithoutItsMarkIsNoticed() {
    var mark = mark()
    #expect(mark.take(Self.sighting("new")) == .forked(isNews: true))
  }

  // The engines

  @Test(arguments: StorageEngine.allCases) func aForkIsNamedAndSettled(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let desk = try await room.storage.createHostCredential(named: "desk", host: "desk", of: "shop", at: room.now)
    func note(_ mark: String, after former: String? = nil, at address: String) async throws -> CloneDetector.Finding {
      try await room.storage.record(
        ComputerMarkSighting(
          credential: desk.id, mark: mark, former: former, address: address, signedAt: 0, at: room.now))
    }
    #expect(try await note("a1", at: "192.0.2.1") == .renewed)
    #expect(try await note("a1", at: "192.0.2.1") == .known)
    #expect(try await room.storage.clonedComputers(of: "shop").isEmpty)
    #expect(try await room.storage.isForked(desk.id) == false)
    #expect(try await note("b1", at: "203.0.113.9") == .forked(isNews: true))
    #expect(try await note("a1", at: "192.0.2.1") == .forked(isNews: true))
    let forked = try await room.storage.clonedComputers(of: "shop")
    #expect(forked.map(\.name) == ["desk"])
    #expect(try await room.storage.isForked(desk.id))
    #expect(forked.first?.areBothUsed == true)
    #expect(Set([forked.first?.address, forked.first?.otherAddress]) == ["192.0.2.1", "203.0.113.9"])
    #expect(try await room.storage.settleComputer(named: "desk", of: "shop", at: room.now))
    #expect(try await room.storage.settleComputer(named: "desk", of: "shop", at: room.now) == false)
    #expect(try await room.storage.clonedComputers(of: "shop").isEmpty)
    #expect(try await room.storage.isForked(desk.id) == false)
    let told = try await room.events().filter { $0.hasPrefix("computer") }
    #expect(told == ["computer copied or put back", "computer copied", "computer settled"])
  }

  @Test(arguments: StorageEngine.allCases)
  func computersThatConnectAtOnceAreNotedTogether(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    var desks: [HostCredential] = []
    for number in 0..<20 {
      desks.append(
        try await room.storage.createHostCredential(named: "d\(number)", host: "d", of: "shop", at: room.now))
    }
    let marks = MarkRenewals(room.storage)
    func findings(_ mark: String, after former: String?) async throws -> [CloneDetector.Finding] {
      try await withThrowingTaskGroup(of: CloneDetector.Finding.self) { group in
        for desk in desks {
          group.addTask {
            try await marks.record(
              ComputerMarkSighting(
                credential: desk.id, mark: mark, former: former, address: nil, signedAt: 0, at: room.now))
          }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
    }
    #expect(try await findings("a1", after: nil) == Array(repeating: .renewed, count: 20))
    #expect(try await findings("a1", after: nil) == Array(repeating: .known, count: 20))
    #expect(try await findings("a2", after: "a1") == Array(repeating: .renewed, count: 20))
    #expect(try await room.storage.clonedComputers(of: "shop").isEmpty)
    // A copy does not renew a mark: each has an entry of its own in the audit.
    #expect(try await findings("b1", after: nil) == Array(repeating: .forked(isNews: true), count: 20))
    #expect(try await room.storage.clonedComputers(of: "shop").count == 20)
  }

  @Test(arguments: StorageEngine.allCases)
  func whatOneStepStoresIsEachOnesOwn(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let desk = try await room.storage.createHostCredential(named: "desk", host: "desk", of: "shop", at: room.now)
    func sighting(_ mark: String, after former: String? = nil, of id: String? = nil) -> ComputerMarkSighting {
      ComputerMarkSighting(
        credential: id ?? desk.id, mark: mark, former: former, address: nil, signedAt: 0, at: room.now)
    }
    let steps = try await room.storage.renew([
      sighting("a1"), sighting("a1"), sighting("b1"), sighting("a2", after: "a1"), sighting("a1", of: "nobody"),
    ])
    #expect(steps == [.renewed, .known, nil, .renewed, .known])
    #expect(try await room.storage.isKnown(sighting("a2")))
    #expect(try await room.storage.isKnown(sighting("a1")) == false)
    #expect(try await room.storage.clonedComputers(of: "shop").isEmpty)
    #expect(try await room.storage.record(sighting("b1")) == .forked(isNews: true))
  }

  @Test(arguments: StorageEngine.allCases)
  func signInsGoOnUnlessTheApplicationHoldsCopies(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    _ = try await room.phone()
    let desk = try await room.storage.createHostCredential(named: "desk", host: "desk", of: "shop", at: room.now)
    for mark in ["a1", "b1"] {
      _ = try await room.storage.record(
        ComputerMarkSighting(credential: desk.id, mark: mark, former: nil, address: nil, signedAt: 0, at: room.now))
    }
    _ = try await room.started(room.ask(by: desk))
    try await room.storage.changeSettings(of: room.application.id) { $0.holdsClones = true }
    guard case .not(.reason(.computerHeld)) = try await room.start(room.ask(host: "web-2", by: desk)).outcome else {
      Issue.record("it is not held")
      return
    }
    _ = try await room.storage.settleComputer(named: "desk", of: "shop", at: room.now)
    guard case .not(.reason(.computerHeld)) = try await room.start(room.ask(host: "web-2", by: desk)).outcome else {
      return
    }
    Issue.record("it is still held")
  }

  // The route

  @Test func aMarkIsToldWithTheListAndLooksLikeOne() async throws {
    let fixture = try await Fixture()
    let desk = try await fixture.service.storage.createHostCredential(
      named: "desk", host: "desk", of: "shop", at: fixture.clock.now)
    func ask(_ query: String) async throws -> Int {
      let target = "/authentication/user_list/\(desk.id)?version=0" + query
      return await fixture.respond(try fixture.signed("GET", target, by: desk)).status
    }
    let (first, second) = (String(repeating: "0", count: 32), String(repeating: "f", count: 32))
    #expect(try await ask("&mark=\(first)") == 200)
    #expect(try await ask("&mark=\(second)") == 200)
    #expect(try await fixture.service.storage.clonedComputers(of: "shop").count == 1)
    for bad in [
      "&mark=x", "&mark=\(first)0", "&former_mark=\(first)", "&mark=\(first)&former_mark=F",
      "&mark=\(first)&mark=\(first)",
    ] {
      #expect(try await ask(bad) == 400, "\(bad)")
    }
  }

  @Test func theConsoleNamesBothAddresses() async throws {
    let fixture = try await Fixture()
    let desk = try await fixture.service.storage.createHostCredential(
      named: "desk", host: "desk", of: "shop", at: fixture.clock.now)
    for (mark, address) in [("a1", "192.0.2.1"), ("b1", "203.0.113.9"), ("a1", "192.0.2.1")] {
      _ = try await fixture.service.storage.record(
        ComputerMarkSighting(
          credential: desk.id, mark: mark, former: nil, address: address, signedAt: 0, at: fixture.clock.now))
    }
    let page = try await ConsoleVisitor.admitted(to: fixture).get("/application/\(fixture.application.id)").text
    #expect(page.contains("copied: two computers use it"))
    #expect(page.contains("192.0.2.1 and 203.0.113.9, since "))
  }
}
