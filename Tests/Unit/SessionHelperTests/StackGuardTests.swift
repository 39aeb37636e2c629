import Glibc
import HostState
import HostSystem
import PAMStacks
import Testing

@testable import SessionHelper

/// What root is told of PAM files that have lost their line, and how often.
@Suite(.enabled(if: geteuid() == 0, "the note is root's"))
struct StackGuardTests {
  private static let own = "auth required pam_iampass.so\nauth required pam_unix.so\n"
  private static let foreign = "auth required pam_unix.so\n"
  private static let day = StackGuard.tellTime
  private static let pause = StackGuard.checkInterval
  /// When the line has been there for long enough.
  private static let start = pause

  private let folder: ScratchFolder
  private let log = TestLog()
  private let guardian: StackGuard
  private let setup: HostSetup

  init() throws {
    folder = try ScratchFolder()
    let path = folder.path
    #expect(mkdir(path + "/pam.d", 0o755) == 0)
    try AtomicFile.write(
      Array("server = https://h\nservices = sudo\nstate_dir = \(path)/state\n".utf8), to: path + "/iampass.conf",
      mode: 0o644)
    setup = try HostSetup(path: path + "/iampass.conf")
    guardian = StackGuard(folder: path + "/pam.d", log: log)
  }

  private func write(_ text: String) throws {
    try AtomicFile.write(Array(text.utf8), to: folder.path + "/pam.d/sudo", mode: 0o644)
  }

  /// A helper that has seen the line, and then another file in its place.
  private func lose() throws {
    try write(Self.own)
    guardian.adopt(setup)
    for now in [0, Self.start] { guardian.turn(at: now) }
    #expect(log.lines.isEmpty)
    try write(Self.foreign)
  }

  @Test func aLossIsToldOnceAndAgainADayLater() throws {
    try lose()
    let first = Self.start + Self.pause
    for now in [first, first + Self.pause, first + Self.day - 1] { guardian.turn(at: now) }
    #expect(log.lines.count == 1 && log.lines.first?.priority == LOG_ERR)
    #expect(log.count("/pam.d/sudo has lost its line of pam_iampass.so; the phone was required there") == 1)
    guardian.turn(at: first + Self.day + Self.pause)
    #expect(log.lines.count == 2)
  }

  @Test func aLineThatOnlyReplacedAPasswordIsAWarning() throws {
    try write("auth sufficient pam_iampass.so\n" + Self.foreign)
    guardian.adopt(setup)
    for now in [0, Self.start] { guardian.turn(at: now) }
    try write(Self.foreign)
    guardian.turn(at: Self.start + Self.pause)
    #expect(log.lines.map(\.priority) == [LOG_WARNING])
  }

  @Test func betweenTwoLooksNothingIsRead() throws {
    try lose()
    guardian.turn(at: Self.start + Self.pause - 1)
    #expect(log.lines.isEmpty)
    guardian.checkSoon()
    guardian.turn(at: Self.start + Self.pause - 1)
    #expect(log.lines.count == 1)
  }

  @Test func aLineThatWasTriedForAMinuteIsNotMissed() throws {
    try write(Self.own)
    guardian.adopt(setup)
    guardian.turn(at: 0)
    try write(Self.foreign)
    guardian.turn(at: Self.pause)
    #expect(log.lines.isEmpty)
  }

  @Test func aLineThatIsBackAndGoesAgainIsToldAgain() throws {
    try lose()
    guardian.turn(at: Self.start + Self.pause)
    try write(Self.own)
    guardian.turn(at: Self.start + 2 * Self.pause)
    try write(Self.foreign)
    guardian.turn(at: Self.start + 3 * Self.pause)
    #expect(log.lines.count == 2)
  }

  @Test func aHelperThatStartsAgainKnowsWhatItsPredecessorSaw() throws {
    try lose()
    let next = StackGuard(folder: folder.path + "/pam.d", log: log)
    next.adopt(setup)
    next.turn(at: 0)
    #expect(log.lines.count == 1)
  }

  @Test func whatWasSwitchedOffIsNotMissed() throws {
    try lose()
    try PhoneLineNote(state: setup.state).forget()
    guardian.turn(at: Self.start + Self.pause)
    #expect(log.lines.isEmpty)
  }

  @Test func whileACommandIsAtWorkNothingIsLookedAt() throws {
    try lose()
    let lock = open(setup.place.administratorLock, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    #expect(flock(lock, LOCK_EX) == 0)
    guardian.turn(at: Self.start + Self.pause)
    #expect(log.lines.isEmpty)
    close(lock)
    guardian.turn(at: Self.start + Self.pause)
    #expect(log.lines.count == 1)
  }

  @Test func aNoteThatCannotBeKeptIsSaidOnce() throws {
    try write(Self.own)
    #expect(symlink("/nowhere", folder.path + "/state") == 0)
    guardian.adopt(setup)
    for turn in 0..<3 { guardian.turn(at: Int64(turn) * Self.pause) }
    #expect(log.lines.map(\.priority) == [LOG_WARNING])
  }
}
