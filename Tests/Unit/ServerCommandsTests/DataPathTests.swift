import CommandSupport
import Foundation
import Testing

@testable import ServerCommands

@Suite(.enabled(if: geteuid() == 0, "gives files to other users"))
final class DataPathTests {
  private let folder: String
  private var data: String { folder + "/a/b/data" }

  init() throws {
    var template = Array("/tmp/iampass-data-XXXXXX".utf8CString)
    folder = try #require(mkdtemp(&template).map { String(cString: $0) })
    for name in ["/a", "/a/b", "/a/b/data"] { try #require(mkdir(folder + name, 0o700) == 0) }
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  private func problem(_ path: String) -> CommandProblem? {
    do throws(CommandProblem) {
      try DataPath.check(path)
      return nil
    } catch { return error }
  }

  @Test func aPathOfRootsIsTaken() {
    #expect(problem(data) == nil)
    #expect(problem(folder + "/a/./b/../b//data/") == nil)
    // What is missing is made, or told as missing.
    #expect(problem(folder + "/a/new") == nil)
    #expect(problem(folder + "/nowhere/new") == nil)
  }

  @Test func aFolderThatOthersWriteAnywhereAboveIsNamed() throws {
    try #require(chmod(folder + "/a", 0o770) == 0)
    for path in [data, folder + "/a/new"] {
      #expect(
        problem(path)
          == CommandProblem(
            message: "\(folder)/a, on the way to the data directory \(path), is writable by others",
            hint: "chmod go-w \(folder)/a", exitCode: EX_CONFIG))
    }
    try #require(chmod(folder + "/a", 0o1777) == 0)
    #expect(problem(data) == nil)
  }

  @Test func aFolderOfAnotherUserAnywhereAboveIsNamed() throws {
    try #require(chown(folder + "/a/b", 65_534, 65_534) == 0)
    #expect(
      problem(data)
        == CommandProblem(
          message: "\(folder)/a/b, on the way to the data directory \(data), belongs to user 65534",
          hint: "chown -h root \(folder)/a/b", exitCode: EX_CONFIG))
  }

  @Test func aLinkIsRefusedIfItIsAnothersOrItsTargetIs() throws {
    let link = folder + "/link"
    try #require(symlink("a/b/data", link) == 0)
    #expect(problem(link) == nil)
    try #require(lchown(link, 65_534, 65_534) == 0)
    let message = "\(link), on the way to the data directory \(link), belongs to user 65534"
    #expect(problem(link)?.message == message)
    try #require(lchown(link, 0, 0) == 0 && chmod(folder + "/a", 0o777) == 0)
    #expect(problem(link)?.message == "\(folder)/a, on the way to the data directory \(link), is writable by others")
  }

  @Test func theFolderItselfIsNamedAlone() throws {
    try #require(chmod(data, 0o770) == 0)
    #expect(
      problem(data)
        == CommandProblem(message: "\(data) is writable by others", hint: "chmod 700 \(data)", exitCode: EX_CONFIG))
    try #require(chmod(data, 0o700) == 0 && chown(data, 65_534, 65_534) == 0)
    #expect(problem(data)?.message == "\(data) belongs to another user")
  }
}
