import Glibc
import HostState
import IAMPASSProtocol
import Testing

@testable import HostSystem
@testable import SessionHelper
@testable import WorkerLink

/// What the journal gets of a session. Its sign-in has the module's one line at the usual level: the helper adds none.
@Suite struct LogLineTests {
  @Test func aWatchedSessionIsOneLineHoweverLongItLasts() throws {
    let office = try HelperFixture()
    let id = try office.signIn()
    office.pass(milliseconds: 3_600_000)
    #expect(office.log.count("session=\(id)") == 1)
    #expect(office.log.lines.map(\.priority) == [LOG_DEBUG])
  }

  @Test func aRestartOrAReloadSaysNothingOfASessionThatWasWatchedBefore() throws {
    let office = try HelperFixture()
    try office.signIn()
    office.pass(milliseconds: 10_000)
    office.restart()
    office.pass(milliseconds: 10_000)
    office.supervisor.adopt(office.setup, office.service, at: office.now)
    office.pass(milliseconds: 10_000)
    #expect(office.log.lines.count == 1)
  }

  @Test func aLogoutIsToldAndSoIsTheEndOfItsRecord() throws {
    let office = try HelperFixture { $0.onLinger = .keep }
    let id = try office.signIn()
    office.pass()
    office.says("walkaway", of: id)
    office.pass(milliseconds: 10_000)
    #expect(office.log.lines.map { $0.text.prefix { $0 != "=" } } == ["watching user", "logged out user", "over user"])
    #expect(office.log.lines.map(\.priority) == [LOG_DEBUG, LOG_NOTICE, LOG_DEBUG])
  }

  @Test func aNoteThatCannotBeReadIsNamedAndTheSessionIsWatched() throws {
    let office = try HelperFixture()
    let id = try office.signIn()
    let note = try office.run.folder("watch") + "/" + id
    try AtomicFile.write(Array("{}".utf8), to: note, mode: 0o666)
    try #require(chmod(note, 0o666) == 0)
    office.pass(milliseconds: 10_000)
    #expect(office.log.count("session=\(id) not read") == 1)
    office.says("walkaway", of: id)
    office.pass(milliseconds: 10_000)
    #expect(office.logind.terminated == ["1"])
  }
}
