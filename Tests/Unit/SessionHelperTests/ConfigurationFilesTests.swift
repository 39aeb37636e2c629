import HostSystem
import Testing

@testable import SessionHelper

/// When the helper reads its configuration again.
@Suite struct ConfigurationFilesTests {
  private let folder: ScratchFolder

  init() throws {
    folder = try ScratchFolder()
    try write("server = https://localhost\n")
  }

  private func write(_ text: String, to name: String = "iampass.conf") throws {
    try AtomicFile.write(Array(text.utf8), to: folder.path + "/" + name, mode: 0o600)
  }

  private func files() -> ConfigurationFiles { ConfigurationFiles(path: folder.path + "/iampass.conf") }

  /// A folder that others may write to, or too many open files: the files do not change as that is mended.
  @Test func whatCouldNotBeUsedIsReadAgain() throws {
    var files = files()
    #expect(files.haveChanged() == true)
    files.wereUsed()
    try write("server = https://example.org\n")
    #expect(files.haveChanged() == true)
    #expect(files.haveChanged() == true)
    files.wereUsed()
    #expect(files.haveChanged() == false)
  }

  @Test func aFileThatWasReplacedAsItWasReadIsReadAgain() throws {
    var files = files()
    #expect(files.haveChanged() == true)
    try write("server = https://example.org\n")
    files.wereUsed()
    #expect(files.haveChanged() == true)
  }

  @Test func theAuthoritiesFileCounts() throws {
    let path = folder.path + "/ca.pem"
    var files = files()
    #expect(files.haveChanged() == true)
    files.note(authorities: path)
    files.wereUsed()
    #expect(files.haveChanged() == false)
    try write("a certificate\n", to: "ca.pem")
    #expect(files.haveChanged() == true)
    files.note(authorities: path)
    files.wereUsed()
    #expect(files.haveChanged() == false)
  }
}
