import Glibc
import HostDoctor
import HostState
import Testing

/// What a killed command has left of a change.
@Suite struct UnfinishedChangeTests {
  private static let list = "iampassctl.pending"

  /// The findings in a folder with this file.
  private func findings(_ name: String, whileLocked isLocked: Bool = false) throws -> [Finding] {
    var template = Array("/tmp/iampass-test-XXXXXX".utf8CString)
    let folder = try #require(mkdtemp(&template).map { String(cString: $0) })
    let place = SetupPlace(configuration: folder + "/iampass.conf")
    let lock = open(place.administratorLock, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    let file = open(folder + "/" + name, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    defer {
      close(lock)
      close(file)
      unlink(place.administratorLock)
      unlink(folder + "/" + name)
      rmdir(folder)
    }
    try #require(lock >= 0 && file >= 0)
    if isLocked { try #require(flock(lock, LOCK_EX | LOCK_NB) == 0) }
    return UnfinishedChange.findings(of: place)
  }

  @Test func aChangeThatCountsAndIsHalfDoneIsAProblem() throws {
    let found = try findings(Self.list)
    #expect(found.map(\.level) == [.problem])
    #expect(found.first?.hint == "iampassctl setup")
  }

  @Test func aChangeThatIsUnderWayIsNot() throws {
    #expect(try findings(Self.list, whileLocked: true).isEmpty)
  }

  /// It is forgotten by the next command, and no sign-in reads it.
  @Test func aChangeThatDoesNotCountYetIsNot() throws {
    #expect(try findings("credentials.pending").isEmpty)
  }
}
