import Glibc
import HostState
import HostSystem
import Testing

@testable import SessionHelper
@testable import WorkerLink

@Suite struct SudoTicketsTests {
  private let alice = SystemUser(name: UnixUsername(validating: "alice")!, uid: 1_000)

  @Test(arguments: ["sudo/ts/alice", "sudo/ts/1000", "sudo-rs/ts/1000"])
  func dropsATicketUnderEitherName(_ name: String) throws {
    let run = try ScratchFolder()
    try run.write(name)
    #expect(SudoTickets.drop(of: alice, run: run.path) == [])
    #expect(!run.has(name))
  }

  @Test func leavesOthersTickets() throws {
    let run = try ScratchFolder()
    for name in ["sudo/ts/bob", "sudo/ts/1001", "sudo/ts/100", "sudo-rs/ts/1001"] { try run.write(name) }
    #expect(SudoTickets.drop(of: alice, run: run.path) == [])
    for name in ["sudo/ts/bob", "sudo/ts/1001", "sudo/ts/100", "sudo-rs/ts/1001"] { #expect(run.has(name)) }
  }

  @Test func aMissingTicketIsNotAnError() throws {
    let run = try ScratchFolder()
    #expect(SudoTickets.drop(of: alice, run: run.path) == [])
  }

  @Test func followsNoLinks() throws {
    let run = try ScratchFolder()
    try run.write("elsewhere/alice")
    try run.write("sudo/other")
    symlink(run.path + "/elsewhere", run.path + "/sudo/ts")
    let errors = SudoTickets.drop(of: alice, run: run.path)
    #expect(errors == [FileError(.system(ENOTDIR), path: run.path + "/sudo/ts")])
    #expect(run.has("elsewhere/alice"))
  }

  @Test func saysWhatItCouldNotRemove() throws {
    let run = try ScratchFolder()
    try run.write("sudo/ts/alice/inside")
    try run.write("sudo/ts/1000")
    let errors = SudoTickets.drop(of: alice, run: run.path)
    #expect(errors == [FileError(.system(EISDIR), path: run.path + "/sudo/ts/alice")])
    #expect(!run.has("sudo/ts/1000"))
  }
}
