import Glibc
import HostState
import HostSystem
import Testing

@Suite struct TrialNotesTests {
  private let folder: TemporaryFolder
  private let notes: TrialNotes
  private let alice: UnixUsername

  init() throws {
    folder = try TemporaryFolder()
    notes = TrialNotes(besides: folder.path + "/iampass.conf")
    alice = try #require(UnixUsername(validating: "alice"))
  }

  @Test func whoSignedInDuringTheTrialIsNamed() throws {
    try notes.begin()
    #expect(!notes.hasApproval(of: nil, through: ["sudo"]))
    notes.note(user: alice, service: "sudo")
    #expect(notes.hasApproval(of: alice, through: ["login", "sudo"]))
    #expect(notes.hasApproval(of: nil, through: ["sudo"]))
    #expect(!notes.hasApproval(of: alice, through: ["login"]))
    #expect(!notes.hasApproval(of: UnixUsername(validating: "alic"), through: ["sudo"]))
  }

  @Test func withoutATrialNothingIsWritten() {
    notes.note(user: alice, service: "sudo")
    #expect(access(notes.path, F_OK) != 0)
    #expect(!notes.hasApproval(of: nil, through: ["sudo"]))
  }

  @Test func anotherTrialBeginsWithNobody() throws {
    try notes.begin()
    notes.note(user: alice, service: "sudo")
    try notes.begin()
    #expect(!notes.hasApproval(of: nil, through: ["sudo"]))
    notes.end()
    #expect(access(notes.path, F_OK) != 0)
  }

  @Test(arguments: [0o644, 0o622] as [mode_t])
  func aFileOfOtherModesNamesNobody(_ mode: mode_t) throws {
    try notes.begin()
    chmod(notes.path, mode)
    notes.note(user: alice, service: "sudo")
    chmod(notes.path, 0o600)
    #expect(!notes.hasApproval(of: nil, through: ["sudo"]))
    notes.note(user: alice, service: "sudo")
    chmod(notes.path, mode)
    #expect(!notes.hasApproval(of: nil, through: ["sudo"]))
  }

  @Test func aLinkIsNotFollowed() throws {
    try folder.write("elsewhere", "")
    chmod(folder.path + "/elsewhere", 0o600)
    symlink(folder.path + "/elsewhere", notes.path)
    notes.note(user: alice, service: "sudo")
    #expect(!notes.hasApproval(of: nil, through: ["sudo"]))
    var found = stat()
    stat(folder.path + "/elsewhere", &found)
    #expect(found.st_size == 0)
  }

  @Test func itDoesNotGrowForEver() throws {
    try notes.begin()
    for _ in 0..<5_000 { notes.note(user: alice, service: "sudo") }
    var found = stat()
    stat(notes.path, &found)
    #expect(found.st_size < 40_000)
    #expect(notes.hasApproval(of: alice, through: ["sudo"]))
  }
}
