import Glibc
import HostState
import HostSystem
import Testing

@Suite struct TrialEndNoteTests {
  private let folder: TemporaryFolder
  private let note: TrialEndNote

  init() throws {
    folder = try TemporaryFolder()
    note = TrialEndNote(besides: folder.path + "/iampass.conf")
  }

  @Test func itTellsWhenUntilItIsForgotten() throws {
    #expect(!note.isThere)
    try note.write(1_795_000_000)
    #expect(note.isThere)
    #expect(note.time == 1_795_000_000)
    note.forget()
    #expect(!note.isThere)
    #expect(note.time == nil)
  }

  @Test(arguments: ["", "soon\n", "-5\n", "99999999999999999999\n"])
  func aNoteWithoutATimeIsThereAllTheSame(text: String) throws {
    try AtomicFile.write(Array(text.utf8), to: note.path, mode: 0o600)
    #expect(note.isThere)
    #expect(note.time == nil)
  }
}
