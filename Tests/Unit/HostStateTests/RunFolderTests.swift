import CHost
import ForkedChild
import Foundation
import Testing

@testable import HostState
@testable import HostSystem
@testable import WorkerLink

@Suite(.enabled(if: geteuid() == 0, "a run folder is root's"))
struct RunFolderTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// Runs in a child, since the umask belongs to a whole process.
  @Test(arguments: [mode_t(0), 0o077, 0o277, 0o777]) func hasItsModeWhateverTheUmask(_ mask: mode_t) throws {
    let run = RunFolder(path: folder.path + "/run")
    let child = iampass_fork()
    if child == 0 {
      umask(mask)
      _exit((try? run.folder("sessions")) == nil ? 1 : 0)
    }
    try #require(ended(child) == 0)
    for path in [folder.path + "/run", folder.path + "/run/sessions"] {
      var found = stat()
      #expect(lstat(path, &found) == 0 && found.st_mode & 0o7777 == 0o700)
    }
  }

  @Test func isRefusedBelowAFolderThatOthersWrite() {
    chmod(folder.path, 0o777)
    mkdir(folder.path + "/open", 0o777)
    chmod(folder.path + "/open", 0o777)
    #expect(throws: FileError.self) { try RunFolder(path: folder.path + "/open/run").folder("sessions") }
  }

  @Test func isRefusedWhereItIsALink() {
    mkdir(folder.path + "/elsewhere", 0o700)
    symlink("elsewhere", folder.path + "/run")
    #expect(throws: FileError(.symbolicLink, path: folder.path + "/run")) {
      try RunFolder(path: folder.path + "/run").folder("sessions")
    }
  }
}
