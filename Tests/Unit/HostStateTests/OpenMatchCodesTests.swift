import CHost
import ForkedChild
import Foundation
import Glibc
import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import Testing

@testable import HostState

@Suite(.enabled(if: geteuid() == 0, "a run folder is root's"))
struct OpenMatchCodesTests {
  /// Seconds after boot.
  private final class Clock {
    var now: Int64 = 10 * OpenMatchCodes.period
  }

  private let clock = Clock()
  private let folder: TemporaryFolder
  private let run: RunFolder

  init() throws {
    folder = try TemporaryFolder()
    run = RunFolder(path: folder.path + "/run")
  }

  private func codes(of user: String = "alice") throws -> OpenMatchCodes {
    OpenMatchCodes(run: run, user: try #require(UnixUsername(validating: user)), now: { [clock] in clock.now })
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
    let locks = try allCodes(of: "alice", ofPeriod: 10)
    defer { for lock in locks { close(lock) } }
    #expect(throws: ServiceError.codesNotKept) { try codes().draw() }
    // Those of the period before are in use, too.
    clock.now += OpenMatchCodes.period
    #expect(throws: ServiceError.codesNotKept) { try codes().draw() }
    #expect(try names(of: "alice").count == 100)
  }

  /// A user has stopped processes that ask for another one.
  @Test func noCodeIsInUseForEver() throws {
    let locks = try allCodes(of: "alice", ofPeriod: 10)
    defer { for lock in locks { close(lock) } }
    clock.now += 2 * OpenMatchCodes.period
    let request = try codes()
    _ = try request.draw()
    #expect(try names(of: "alice").count == 1)
  }

  @Test func aCodeOfThePeriodBeforeIsNotDrawnAgain() throws {
    clock.now += OpenMatchCodes.period - 1
    let earlier = try (0..<50).map { _ in try codes() }
    let drawn = try earlier.map { try $0.draw().exposedValue }
    clock.now += 1
    let later = try (0..<45).map { _ in try codes() }
    #expect(Set(drawn + (try later.map { try $0.draw().exposedValue })).count == 95)
  }

  /// A process was stopped between the look at the clock and its lock.
  @Test func aCodeThatIsTakenTooLateIsGivenBack() throws {
    let user = try #require(UnixUsername(validating: "alice"))
    var looks = 0
    let request = OpenMatchCodes(run: run, user: user) {
      looks += 1
      // For what is removed, for the draw, and behind the lock.
      return (looks < 3 ? 10 : 11) * OpenMatchCodes.period
    }
    let code = try request.draw().exposedValue
    #expect(looks == 5)
    #expect(try names(of: "alice").contains(code + ".11"))
    clock.now += OpenMatchCodes.period
    let others = try (0..<90).map { _ in try codes() }
    #expect(try !others.map { try $0.draw().exposedValue }.contains(code))
  }

  private func folder(of user: String) throws -> String {
    try run.folder("attempts/codes/" + Digest.hexadecimal(Digest.sha256(Array(user.utf8))))
  }

  private func names(of user: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder(of: user))
  }

  private func allCodes(of user: String, ofPeriod period: Int) throws -> [Int32] {
    try (0..<100).map { number in
      let name = (number < 10 ? "0" : "") + "\(number).\(period)"
      let lock = open(try folder(of: user) + "/" + name, O_RDWR | O_CREAT, 0o600)
      try #require(lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0)
      return lock
    }
  }

  /// Shells and hosts use the numbers up to 9. Runs in a child, since descriptors belong to a whole process.
  @Test func aLockTakesNoNumberThatAHostUses() throws {
    let request = try codes()
    let child = iampass_fork()
    if child == 0 {
      for descriptor in Int32(0)...9 { close(descriptor) }
      guard (try? request.draw()) != nil else { _exit(1) }
      _exit((Int32(0)...9).allSatisfy { fcntl($0, F_GETFD) == -1 } ? 0 : 2)
    }
    #expect(ended(child) == 0)
    #expect(try names(of: "alice").count == 1)
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
    for number in 0..<100 {
      symlink("/tmp/elsewhere", try folder(of: "alice") + "/" + (number < 10 ? "0" : "") + "\(number).10")
    }
    #expect(throws: ServiceError.codesNotKept) { try codes().draw() }
  }
}
