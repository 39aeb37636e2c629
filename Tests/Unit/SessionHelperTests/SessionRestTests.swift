import HostSystem
import Testing

@testable import SessionHelper
@testable import WorkerLink

/// What counts as running on, by a made-up /proc for the terminals.
@Suite struct SessionRestTests {
  private let leader = ProcessIdentity(pid: 1, startTime: 0)

  private func rest(of pids: [Int32], terminal: Int) throws -> SessionRest {
    let folder = try ScratchFolder()
    for pid in pids { try folder.write("\(pid)/stat", "\(pid) (a) S 1 1 1 \(terminal) 1 4194304 0") }
    return SessionRest(of: pids, leader: leader, terminals: SessionTerminals(proc: folder.path))
  }

  @Test func aProcessWithATerminalCountsBeforeOneWithout() throws {
    let own = try #require(ProcessIdentity.current())
    #expect(try rest(of: [own.pid], terminal: 34_816) == .onTerminal(own))
    #expect(try rest(of: [own.pid], terminal: 0) == .withoutTerminal(own))
  }

  @Test func theLeaderAndWhatHasEndedCountForNothing() throws {
    let own = try #require(ProcessIdentity.current())
    #expect(SessionRest(of: [own.pid], leader: own) == .nothing)
    // More than the kernel gives (proc(5), pid_max).
    #expect(try rest(of: [1 << 22], terminal: 34_816) == .nothing)
    #expect(SessionRest(of: [], leader: own) == .nothing)
  }
}
