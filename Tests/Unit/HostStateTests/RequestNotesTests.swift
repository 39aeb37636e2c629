import Glibc
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import Testing

/// What a sign-in that was killed leaves of its request, and what the next one makes of that.
@Suite(.enabled(if: geteuid() == 0, "a run folder is root's"))
struct RequestNotesTests {
  private let folder: TemporaryFolder
  private let notes: RequestNotes

  init() throws {
    folder = try TemporaryFolder()
    notes = try Self.notes(of: "alice", in: folder)
  }

  private static func notes(of user: String, in folder: TemporaryFolder) throws -> RequestNotes {
    RequestNotes(run: RunFolder(path: folder.path + "/run"), user: try #require(UnixUsername(validating: user)))
  }

  private func session(_ name: String) throws -> RemoteSession {
    let settings = ServiceSettings(
      server: try ServerURL("https://h"), scheme: .client, dialect: .iampass, signedReplies: false)
    return try RemoteSession(
      statusURL: "/s/\(name)", logoutURL: "/l/\(name)", token: Secret("t"), secret: Secret("s"), name: name,
      settings: settings)
  }

  private func note(_ name: String, seconds: Int64 = 60) throws -> RequestNote {
    try notes.note(try session(name), seconds: seconds)
  }

  private func left() throws -> [String] {
    try notes.leftOver().map(\.request.publicName).sorted()
  }

  /// The files of alice's notes.
  private func files() throws -> [String] {
    let name = Digest.hexadecimal(Digest.sha256(Array("alice".utf8)))
    let place = try RunFolder(path: folder.path + "/run").folder("requests/" + name)
    return try FolderListing.names(in: place).filter { !$0.hasPrefix(".") }.map { place + "/" + $0 }
  }

  @Test func aRequestThatIsAskedIsNotLeftOver() throws {
    let note = try note("a")
    #expect(try left().isEmpty)
    withExtendedLifetime(note) {}
  }

  @Test func whatNobodyHoldsIsLeftOver() throws {
    _ = try note("a")
    _ = try note("b")
    #expect(try left() == ["a", "b"])
  }

  @Test func aRemovedNoteIsNotLeftOver() throws {
    let note = try note("a")
    try note.remove()
    #expect(try left().isEmpty)
    #expect(try files().isEmpty)
  }

  @Test func anotherUsersNotesAreNotSeen() throws {
    _ = try note("a")
    #expect(try Self.notes(of: "bob", in: folder).leftOver().isEmpty)
  }

  @Test func oneSignInAloneWithdrawsIt() throws {
    _ = try note("a")
    let first = try notes.leftOver()
    #expect(first.count == 1)
    #expect(try left().isEmpty)
    withExtendedLifetime(first) {}
  }

  @Test func whatWasNotWithdrawnIsLeftToTheNextSignIn() throws {
    _ = try note("a")
    _ = try notes.leftOver()
    #expect(try left() == ["a"])
  }

  @Test func whatIsOverByItselfIsRemoved() throws {
    _ = try note("a", seconds: -1)
    #expect(try left().isEmpty)
    #expect(try files().isEmpty)
  }

  /// What an approved sign-in could not remove must end nothing.
  @Test func aNoteThatKeptItsNameEndsNothing() throws {
    let note = try note("a")
    let path = try #require(try files().first)
    let second = String(path.dropLast(32)) + "0123456789abcdef0123456789abcdef"
    try #require(link(path, second) == 0)
    try note.remove()
    #expect(try files() == [second])
    #expect(try left().isEmpty)
  }

  @Test func aDamagedNoteIsRemovedAndAnEmptyOneMayBeFilled() throws {
    _ = try note("a")
    let path = try #require(try files().first)
    try #require(truncate(path, 10) == 0)
    #expect(try left().isEmpty)
    #expect(try files().isEmpty)
    _ = try note("b")
    let empty = try #require(try files().first)
    try #require(truncate(empty, 0) == 0)
    #expect(try left().isEmpty)
    #expect(try files() == [empty])
  }

  /// Seconds by which an empty note seems to have been written after now: a clock that was set back must not keep it.
  @Test(arguments: [-120, 120])
  func anEmptyNoteThatNobodyIsAboutToFillIsRemoved(_ seconds: Int) throws {
    _ = try note("a")
    let empty = try #require(try files().first)
    try #require(truncate(empty, 0) == 0)
    let written = timeval(tv_sec: time(nil) + seconds, tv_usec: 0)
    try #require(utimes(empty, [written, written]) == 0)
    #expect(try left().isEmpty)
    #expect(try files().isEmpty)
  }

  /// The wall clock may be set while the request is open.
  @Test func theEndCountsFromBoot() throws {
    let before = BootTime.seconds()
    let end = try note("a", seconds: 60).request.end
    #expect((before + 60...BootTime.seconds() + 60).contains(end))
  }

  @Test func itIsOverOnceItsTimeIs() throws {
    _ = try note("a", seconds: 60)
    let end = BootTime.seconds() + 60
    let later = RequestNotes(
      run: RunFolder(path: folder.path + "/run"), user: try #require(UnixUsername(validating: "alice")), now: { end })
    #expect(try later.leftOver().isEmpty)
    #expect(try files().isEmpty)
  }

  @Test func aFileThatOthersReadIsNotTaken() throws {
    _ = try note("a")
    chmod(try #require(try files().first), 0o644)
    #expect(try left().isEmpty)
  }

  @Test func aLinkIsNotFollowed() throws {
    _ = try note("a")
    let path = try #require(try files().first)
    try #require(rename(path, folder.path + "/elsewhere") == 0 && symlink(folder.path + "/elsewhere", path) == 0)
    #expect(try left().isEmpty)
  }

  @Test func theFilesAreRootsAlone() throws {
    let note = try note("a")
    let path = try #require(try files().first)
    var found = stat()
    let outcome = stat(path, &found)
    #expect(outcome == 0)
    #expect(found.st_mode & 0o7777 == 0o600)
    withExtendedLifetime(note) {}
  }
}
