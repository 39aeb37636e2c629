import Glibc
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import Testing

@Suite(.enabled(if: geteuid() == 0, "a run folder is root's"))
struct OpenMatchCodesTests {
  private let folder: TemporaryFolder
  private let run: RunFolder

  init() throws {
    folder = try TemporaryFolder()
    run = RunFolder(path: folder.path + "/run")
  }

  private func codes(of user: String = "alice") throws -> OpenMatchCodes {
    OpenMatchCodes(run: run, user: try #require(UnixUsername(validating: user)))
  }

  @Test func noTwoRequestsOfAUserHaveTheSame() throws {
    let requests = try (0..<90).map { _ in try codes() }
    let drawn = try requests.map { try $0.draw().exposedValue }
    #expect(Set(drawn).count == 90)
  }

  @Test func noRequestHasTheSameTwice() throws {
    let request = try codes()
    #expect(Set(try (0..<3).map { _ in try request.draw().exposedValue }).count == 3)
  }

  @Test func codesAreFreeAgainOnceTheirRequestIsOver() throws {
    for _ in 0..<10 {
      let requests = try (0..<50).map { _ in try codes() }
      for request in requests { _ = try request.draw() }
    }
  }

  @Test func ifNoneIsFreeNoneIsDrawn() throws {
    let all = try codes()
    let folder = try run.folder("attempts/codes/" + Digest.hexadecimal(Digest.sha256(Array("alice".utf8))))
    var locks: [Int32] = []
    defer { for lock in locks { close(lock) } }
    for number in 0..<100 {
      let name = (number < 10 ? "0" : "") + String(number)
      let lock = open(folder + "/" + name, O_RDWR | O_CREAT, 0o600)
      try #require(lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0)
      locks.append(lock)
    }
    #expect(throws: ServiceError.codesNotKept) { try all.draw() }
  }

  @Test func usersHaveEachTheirOwn() throws {
    let alices = try codes()
    for _ in 0..<60 { _ = try alices.draw() }
    let bobs = try codes(of: "bob")
    for _ in 0..<60 { _ = try bobs.draw() }
  }

  @Test func aFolderThatIsNotRootsAloneGivesNone() throws {
    _ = try codes().draw()
    chmod(run.path + "/attempts/codes", 0o777)
    #expect(throws: ServiceError.codesNotKept) { try codes().draw() }
  }

  @Test func aLinkIsNotFollowed() throws {
    let folder = try run.folder("attempts/codes/" + Digest.hexadecimal(Digest.sha256(Array("alice".utf8))))
    for number in 0..<100 { symlink("/tmp/elsewhere", folder + "/" + (number < 10 ? "0" : "") + String(number)) }
    #expect(throws: ServiceError.codesNotKept) { try codes().draw() }
  }
}
