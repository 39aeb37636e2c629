import Glibc
import Testing

@testable import HostState
@testable import HostSystem

/// By which clock files count as old that strangers' requests cause.
@Suite struct BoundedFolderTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// Makes a full folder of one file, and makes room in it. Returns whether the file is gone.
  private func isRemoved(writtenAt seconds: Int64) throws -> Bool {
    let path = try folder.write("one", "")
    let written = timespec(tv_sec: Int(seconds), tv_nsec: 0)
    try #require(utimensat(AT_FDCWD, path, [written, written], 0) == 0)
    try? BoundedFolder.makeRoom(in: folder.path, greatestCount: 1) { $0 > 60 }
    return access(path, F_OK) != 0
  }

  @Test func anAgeCountsFromBootWhateverTheWallClockSays() throws {
    let now = BootTime.seconds()
    #expect(try !isRemoved(writtenAt: now))
    if now > 120 { #expect(try isRemoved(writtenAt: now - 120)) }
  }

  @Test func aFileWithoutAStampGoesByTheWallClock() throws {
    #expect(try !isRemoved(writtenAt: Int64(time(nil))))
    #expect(try isRemoved(writtenAt: Int64(time(nil)) - 120))
  }

  @Test func whatIsCountedIsStamped() throws {
    let run = RunFolder(path: folder.path + "/run")
    let alice = try #require(UnixUsername(validating: "alice"))
    try AttemptLimiter(run: run, greatestCount: 2, window: 600).admit(alice, from: .own)
    let connection = SSHConnection(
      parent: ProcessIdentity(pid: 7, startTime: 8), user: "alice", remoteHost: "192.0.2.1")
    try ConnectionMemory(run: run).remember("11", on: connection)
    for place in ["own", "connections"] {
      let path = folder.path + "/run/attempts/" + place
      let name = try #require(try BoundedFolder.names(in: path).first)
      var found = stat()
      let outcome = lstat(path + "/" + name, &found)
      #expect(outcome == 0)
      #expect(found.st_mtim.tv_sec <= Int(BootTime.seconds()))
    }
  }
}
