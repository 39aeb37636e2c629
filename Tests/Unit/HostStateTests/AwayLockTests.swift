import Testing

@testable import HostState
@testable import HostSystem

/// The helper's notes of screens that it locked because a phone left.
@Suite struct AwayLockTests {
  private let folder: TemporaryFolder
  private let locks: AwayLocks
  private let me: ProcessIdentity

  init() throws {
    folder = try TemporaryFolder()
    locks = AwayLocks(run: RunFolder(path: folder.path + "/run"))
    me = try #require(ProcessIdentity.current())
  }

  private func binding(_ session: String = "3", _ leader: ProcessIdentity? = nil) -> SessionRecord.Binding {
    SessionRecord.Binding(logindSession: session, leader: leader ?? me)
  }

  private func session(_ id: String = "3", uid: UInt32 = 1_000) -> LogindSession {
    LogindSession(
      id: id, leader: me.pid, uid: uid, sessionClass: "user", type: "x11", isRemote: false, seat: "seat0", scope: "")
  }

  @Test func aSessionHasOneNoteHoweverOftenItIsLocked() throws {
    try locks.note(binding(), of: 1_000)
    try locks.note(binding(), of: 1_000)
    #expect(locks.all == [AwayLock(uid: 1_000, binding: binding())])
  }

  @Test func forgetsTheNotesOfTheseSessionsAlone() throws {
    try locks.note(binding(), of: 1_000)
    try locks.note(binding("4"), of: 1_000)
    #expect(locks.forget([session(uid: 1_001), session("5")]).isEmpty)
    #expect(locks.all.count == 2)
    #expect(locks.forget([session()]).isEmpty)
    #expect(locks.all.map(\.binding.logindSession) == ["4"])
  }

  @Test func aSessionThatIsOverHasNoNote() throws {
    try locks.note(binding("3", ProcessIdentity(pid: me.pid, startTime: 1)), of: 1_000)
    #expect(locks.all.isEmpty)
    try locks.note(binding("4"), of: 1_000)
    let names = try FolderListing.names(in: folder.path + "/run/locked").filter { !$0.hasPrefix(".") }
    #expect(names.count == 1)
  }

  @Test func aDamagedNoteCountsAsNone() throws {
    try locks.note(binding(), of: 1_000)
    let path = folder.path + "/run/locked/" + AwayLock(uid: 1_000, binding: binding()).id
    for text in ["", "{", #"{"version":2}"#] {
      try AtomicFile.write(Array(text.utf8), to: path, mode: 0o600)
      #expect(locks.all.isEmpty)
    }
  }
}
