import Glibc
import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import Testing

@testable import HostState

/// What is on the disk before something else is done: a new file's name is there once its folder is flushed.
@Suite struct FolderFlushTests {
  private let office: SigningFixture
  private var folder: String { office.folder }
  private var service: String { office.folder + "/service" }

  init() throws { office = try SigningFixture() }

  /// The state folder on a disk that fails to flush one folder once a file is in its place.
  private func state(failingAt failing: String, once file: String) -> RunFolder {
    RunFolder(path: folder) { (flushed: String) throws(FileError) in
      guard flushed != failing || access(file, F_OK) != 0 else { throw FileError(.system(EIO), path: flushed) }
    }
  }

  /// The folders of the file are new at the first join.
  @Test func administratorsWhoseFileIsNotOnTheDiskAreNotKept() throws {
    let path = Fleet.path(in: service, credential: "own")
    for failing in [service, folder] {
      #expect(throws: FileError(.system(EIO), path: failing)) {
        try office.fleet.write(in: state(failingAt: failing, once: path))
      }
      #expect(unlink(path) == 0)
    }
  }

  @Test func administratorsAreGivenUpOnTheDisk() throws {
    _ = try office.fleet.write(in: office.state)
    let broken = state(failingAt: service, once: Fleet.path(in: service, credential: "new"))
    #expect(throws: FileError(.system(EIO), path: service)) { try Fleet.believeService(as: "new", in: broken) }
  }

  /// Otherwise a removed phone could come back beside the list that no longer has it.
  @Test func aListsPhonesAreOnTheDiskBeforeItsUsers() throws {
    let list = SignedUsers(credential: "own", version: UserListVersion(epoch: 0, number: 1))
    let broken = state(failingAt: service, once: service + "/phones")
    #expect(throws: FileError(.system(EIO), path: service)) { try list.write(in: broken) }
    #expect(access(service + "/users", F_OK) != 0)
  }

  @Test func aMarkThatIsNotOnTheDiskIsNotSent() throws {
    var mark = ComputerMark(in: office.state, credential: "own")
    let broken = state(failingAt: service, once: service + "/mark")
    do {
      try mark.renew(in: broken)
      Issue.record("the mark is not on the disk")
    } catch { #expect(error == FileError(.system(EIO), path: service)) }
    #expect(mark.sent == nil)
  }

  /// The service is told, or the user's token removed, only after that.
  @Test func aPhoneIsForgottenOnTheDisk() throws {
    let path = folder + "/phones"
    let alice = try #require(UnixUsername(validating: "alice"))
    try PinnedPhonesEditor(path: path).pin(try SigningAdministrator.phone("lost"), for: alice, replacing: true)
    let broken = PinnedPhonesEditor(path: path) { (flushed: String) throws(FileError) in
      throw FileError(.system(EIO), path: flushed)
    }
    #expect(throws: PinnedPhonesError.file(FileError(.system(EIO), path: folder))) { try broken.forget(alice) }
    // The folder was flushed once the new file was in place.
    #expect(try PinnedPhones(path: path).users().isEmpty)
  }

  @Test func onlyAFileSystemThatFlushesNoFolderIsPassed() throws {
    #expect(throws: FileError(.system(EINVAL), path: "/proc")) { try FolderFlush.flush("/proc") }
    try FolderFlush.settle("/proc")
    let missing = folder + "/missing"
    #expect(throws: FileError(.system(ENOENT), path: missing)) { try FolderFlush.settle(missing) }
  }
}
