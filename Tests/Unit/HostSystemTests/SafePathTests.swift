import CHost
import Foundation
import Testing

@testable import HostSystem
@testable import WorkerLink

@Suite(.enabled(if: geteuid() == 0, "gives files to other users"))
final class SafePathTests {
  private let folder: String

  init() throws {
    var template = Array("/tmp/iampass-path-XXXXXX".utf8CString)
    folder = try #require(mkdtemp(&template).map { String(cString: $0) })
    mkdir(folder + "/a", 0o755)
    mkdir(folder + "/a/b", 0o755)
    try #require(FileManager.default.createFile(atPath: folder + "/a/b/file", contents: Data("#!/bin/sh\n".utf8)))
    chmod(folder + "/a/b/file", 0o755)
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  private func fault(_ path: String) -> PathFault.Code? {
    do throws(PathFault) {
      _ = try SafePath.place(of: path).open(O_PATH)
      return nil
    } catch {
      return error.code
    }
  }

  /// - Parameter user: also the group's id.
  private func fault(_ path: String, keptFrom user: uid_t) -> PathFault.Code? {
    do throws(PathFault) {
      _ = try SafePath.place(of: path, keptFrom: user, user)
      return nil
    } catch {
      return error.code
    }
  }

  @Test func walksFoldersOfRoot() {
    #expect(fault(folder + "/a/b/file") == nil)
    #expect(fault(folder + "//a/./b/../b/file") == nil)
  }

  @Test func refusesAFolderThatOthersWriteAnywhereOnTheWay() {
    chmod(folder + "/a", 0o777)
    #expect(fault(folder + "/a/b/file") == .writableByOthers)
    chmod(folder + "/a", 0o1777)
    #expect(fault(folder + "/a/b/file") == nil)
  }

  @Test func refusesAFolderOfAnotherUserAnywhereOnTheWay() {
    chown(folder + "/a", 65_534, 65_534)
    #expect(fault(folder + "/a/b/file") == .ownedByAnother)
  }

  @Test func followsLinksOfRootAndOfNobodyElse() {
    symlink("a/../a", folder + "/link")
    symlink(folder + "/link", folder + "/second")
    #expect(fault(folder + "/second/b/file") == nil)
    lchown(folder + "/link", 65_534, 65_534)
    #expect(fault(folder + "/second/b/file") == .ownedByAnother)
  }

  @Test func refusesFoldersAndLinksOfAUserFromWhomThePathIsKept() {
    symlink("a", folder + "/link")
    #expect(fault(folder + "/link/b/file", keptFrom: 65_534) == nil)
    chown(folder + "/a", 65_533, 65_533)
    #expect(fault(folder + "/link/b/file", keptFrom: 65_534) == nil)
    lchown(folder + "/link", 65_534, 65_534)
    #expect(fault(folder + "/link/b/file", keptFrom: 65_534) == .ownedByAnother)
    chown(folder + "/a", 65_534, 65_534)
    #expect(fault(folder + "/a/b/file", keptFrom: 65_534) == .ownedByAnother)
  }

  @Test func refusesAFolderThatTheUserFromWhomThePathIsKeptCanWrite() {
    chown(folder + "/a", 0, 65_533)
    chmod(folder + "/a", 0o775)
    #expect(fault(folder + "/a/b/file", keptFrom: 65_534) == nil)
    chown(folder + "/a", 0, 65_534)
    #expect(fault(folder + "/a/b/file", keptFrom: 65_534) == .writableByOthers)
    chown(folder + "/a", 0, 0)
    chmod(folder + "/a", 0o777)
    #expect(fault(folder + "/a/b/file", keptFrom: 65_534) == .writableByOthers)
    chmod(folder + "/a", 0o1777)
    #expect(fault(folder + "/a/b/file", keptFrom: 65_534) == nil)
  }

  @Test func endsWhereLinksGoInACircle() {
    symlink("circle", folder + "/circle")
    #expect(fault(folder + "/circle/file") == .system(ELOOP))
  }

  @Test func refusesALinkAtTheEnd() {
    symlink("file", folder + "/a/b/link")
    #expect(fault(folder + "/a/b/link") == .symbolicLink)
  }

  @Test(arguments: ["", "relative", "/", "/tmp/.."]) func refusesWhatNamesNoFile(_ path: String) {
    #expect(fault(path) != nil)
  }

  /// Another file may be at its path by then.
  @Test func startsTheProgramThatWasOpened() throws {
    let path = folder + "/a/b/program"
    try write("first", to: path)
    let program = try WorkerFile.open(path)
    try write("second", to: path + ".new")
    try #require(rename(path + ".new", path) == 0)

    let process = try WorkerProcess(program, path: path, user: nil)
    var answer = pollfd(fd: process.socket, events: Int16(POLLIN), revents: 0)
    try #require(poll(&answer, 1, 30_000) == 1)
    var said = [UInt8](repeating: 0, count: 64)
    let count = recv(process.socket, &said, said.count, 0)
    #expect(String(decoding: said.prefix(max(0, count)), as: UTF8.self) == "first\n")
  }

  private func write(_ word: String, to path: String) throws {
    try Data("#!/bin/sh\necho \(word) >&3\nsleep 60\n".utf8).write(to: URL(fileURLWithPath: path))
    chmod(path, 0o755)
  }
}
