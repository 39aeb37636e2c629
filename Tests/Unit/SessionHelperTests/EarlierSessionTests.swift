import Glibc
import HostState
import IAMPASSClient
import Testing

@testable import HostState
@testable import HostSystem
@testable import SessionHelper
@testable import WorkerLink

/// Sessions that are left at the service when a computer stops.
@Suite struct EarlierSessionTests {
  @Test func whatWasOpenIsEndedAfterTheNextStartAndNothingElse() throws {
    let office = try HelperFixture()
    let ids = try (1...3).map { try office.signIn("u\($0)", uid: UInt32(1_000 + $0), session: String($0)) }
    let sudo = try office.signIn(service: "sudo")
    office.pass(milliseconds: 10_000)
    try office.ledger.release(ids[0])
    office.pass(milliseconds: 10_000)
    #expect(office.service.ended == ["https://localhost/logout/\(ids[0])"])
    try office.reboot()
    let new = try office.signIn(session: "1")
    office.pass(milliseconds: 10_000)
    #expect(
      Set(office.service.ended.dropFirst()) == Set([ids[1], ids[2], sudo].map { "https://localhost/logout/\($0)" }))
    #expect(office.service.ended.count == 4)
    #expect(try office.open.ids() == [new])
  }

  @Test func aRestartOfTheHelperEndsNothing() throws {
    let office = try HelperFixture()
    let id = try office.signIn()
    office.pass(milliseconds: 10_000)
    office.restart()
    office.pass(milliseconds: 60_000)
    #expect(office.service.ended == [])
    #expect(try office.open.ids() == [id])
  }

  /// Its own processes all ended, while the kernel went on.
  @Test func aContainersNextStartIsOneToo() throws {
    let office = try HelperFixture()
    office.origin = OpenSession.Origin(machine: "m", boot: "1", start: 100)
    office.restart()
    let id = try office.signIn()
    office.pass(milliseconds: 10_000)
    try office.reboot(as: OpenSession.Origin(machine: "m", boot: "1", start: 200))
    office.pass(milliseconds: 10_000)
    #expect(office.service.ended == ["https://localhost/logout/\(id)"])
  }

  /// That version did not write when process 1 started.
  @Test func anUpgradeOfTheHelperEndsNothing() throws {
    let office = try HelperFixture()
    let id = try office.signIn()
    office.pass(milliseconds: 10_000)
    office.origin = OpenSession.Origin(machine: "m", boot: "1", start: 100)
    office.restart()
    office.pass(milliseconds: 60_000)
    #expect(office.service.ended == [])
    #expect(try office.open.ids() == [id])
  }

  /// The disk was copied while the other computer ran.
  @Test func aCopyOfTheComputerEndsNothingOfTheOthers() throws {
    let office = try HelperFixture()
    try office.signIn()
    office.pass(milliseconds: 10_000)
    try office.reboot(as: OpenSession.Origin(machine: "copy", boot: "2"))
    office.pass(milliseconds: 60_000)
    #expect(office.service.ended == [])
    #expect(try office.open.ids() == [])
  }

  @Test func isTriedUntilTheServiceHasHeardIt() throws {
    let office = try HelperFixture()
    let id = try office.signIn()
    office.pass(milliseconds: 10_000)
    try office.reboot()
    office.service.toEnds = .failed(.serverFailed(status: 503))
    office.pass(milliseconds: 300_000)
    #expect(office.service.ended.count > 4)
    #expect(try office.open.ids() == [id])
    office.restart()
    office.service.toEnds = .endTold
    office.pass(milliseconds: 60_000)
    #expect(try office.open.ids() == [])
  }

  @Test func isGivenUpADayAfterTheSessionsOwnEnd() throws {
    let office = try HelperFixture()
    try office.signIn { $0 = $0.lasting(600) }
    office.pass(milliseconds: 10_000)
    try office.reboot()
    office.service.toEnds = .failed(.serverFailed(status: 503))
    office.pass(milliseconds: 1_000)
    office.pass(milliseconds: 86_400_000, looking: false)
    #expect(try office.open.ids().count == 1)
    #expect(office.service.ended.count > 1_000)
    office.pass(milliseconds: 700_000, looking: false)
    #expect(try office.open.ids() == [])
  }

  @Test func aFileOfAnotherVersionIsLeftAsItIs() throws {
    let office = try HelperFixture()
    let id = "0123456789abcdef0123456789abcdef"
    let folder = try RunFolder(path: office.folder.path + "/state").folder("open")
    try AtomicFile.write(Array("{}".utf8), to: folder + "/" + id, mode: 0o600)
    office.pass(milliseconds: 1_000)
    #expect(office.service.ended == [])
    #expect(office.log.count("is left as it is") == 1)
  }

  @Test func isRootsAloneToRead() throws {
    let office = try HelperFixture()
    let id = try office.signIn()
    office.pass(milliseconds: 1_000)
    var found = stat()
    #expect(stat(office.folder.path + "/state/open/" + id, &found) == 0)
    #expect(found.st_mode & 0o7777 == 0o600)
    #expect(stat(office.folder.path + "/state/open", &found) == 0)
    #expect(found.st_mode & 0o7777 == 0o700)
  }

  @Test func aDiskThatTakesNothingIsSaidOnceAndEndsNothing() throws {
    let office = try HelperFixture()
    try office.folder.write("state", "no folder")
    for number in 1...3 { try office.signIn("u\(number)", uid: UInt32(1_000 + number), session: String(number)) }
    office.pass(milliseconds: 60_000)
    #expect(office.service.ended == [])
    #expect(office.log.lines.count { $0.priority == LOG_WARNING } == 1)
  }
}
