import Glibc
import HostState
import HostSystem
import Testing

/// What stays of a file whose writer was killed before it took its place.
@Suite(.enabled(if: geteuid() == 0, "a run folder is root's"))
struct UnfinishedFilesTests {
  private static let id = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
  private static let other = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

  private let kept: TemporaryFolder
  private let run: RunFolder
  private let folder: String

  init() throws {
    kept = try TemporaryFolder()
    run = RunFolder(path: kept.path + "/run")
    folder = try run.folder("asked")
  }

  private func write(_ name: String, age: Int) throws {
    try AtomicFile.write([1], to: folder + "/" + name, mode: 0o600)
    let then = timeval(tv_sec: time(nil) - age, tv_usec: 0)
    try #require(utimes(folder + "/" + name, [then, then]) == 0)
  }

  /// In the folder after somebody has asked for the requests that are kept there.
  private func left() throws -> Set<String> {
    _ = try OpenSessions.asked(run: run).ids()
    return try Set(FolderListing.names(in: folder)).subtracting([".", ".."])
  }

  @Test func whatAKilledWriterLeftIsRemoved() throws {
    try write(Self.id + ".new", age: 120)
    #expect(try left().isEmpty)
  }

  @Test func aFileThatIsBeingWrittenStays() throws {
    try write(Self.id + ".new", age: 30)
    #expect(try left() == [Self.id + ".new"])
  }

  @Test func aFinishedFileStaysHoweverOld() throws {
    try write(Self.id, age: 100_000)
    try write(Self.other + ".new", age: 100_000)
    #expect(try left() == [Self.id])
    #expect(try OpenSessions.asked(run: run).ids() == [Self.id])
  }

  @Test func aFileOfAnotherNameStays() throws {
    try write("notes.new", age: 100_000)
    #expect(try left() == ["notes.new"])
  }
}
