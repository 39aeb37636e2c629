import Foundation
import Glibc
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// The files by which servers on one data folder show themselves.
@Suite struct ServingFileTests {
  private static let server = RunningServer(with: nil)

  private final class Folder {
    let path: String

    init() throws {
      path = NSTemporaryDirectory() + "iampass-serving-" + (try #require(Digest.randomIdentifier()))
      try FileManager.default.createDirectory(
        atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// - Returns: the open file.
    func made(_ name: String) throws -> Int32 {
      let descriptor = open(path + "/" + name, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o600)
      try #require(descriptor >= 0)
      return descriptor
    }

    var names: Set<String> { get throws { try Set(FileManager.default.contentsOfDirectory(atPath: path)) } }
  }

  @Test func whatAServerLeftThatWasKilledAsItStartedIsRemoved() throws {
    let folder = try Folder()
    for name in ["serving-a.new", "serving-b"] { close(try folder.made(name)) }
    try ServingFile.leave(Self.server, in: folder.path)
    #expect(try folder.names.count == 1)
    #expect(try folder.names.isDisjoint(with: ["serving-a.new", "serving-b"]))
    #expect(try ServingFile.servers(in: folder.path).count == 1)
  }

  @Test func whatAServerIsWritingStays() throws {
    let folder = try Folder()
    let descriptor = try folder.made("serving-a.new")
    defer { close(descriptor) }
    try #require(flock(descriptor, LOCK_EX | LOCK_NB) == 0)
    try ServingFile.leave(Self.server, in: folder.path)
    #expect(try folder.names.contains("serving-a.new"))
    // It is not seen before it has its name.
    #expect(try ServingFile.servers(in: folder.path).count == 1)
  }

  @Test func whatNoServerOfThisUserLeftStays() throws {
    let folder = try Folder()
    let names: Set = ["serving-link.new", "serving-folder.new", "serving-pipe.new", "notes.new"]
    close(try folder.made("notes.new"))
    try #require(symlink("notes.new", folder.path + "/serving-link.new") == 0)
    try #require(mkdir(folder.path + "/serving-folder.new", 0o700) == 0)
    try #require(mkfifo(folder.path + "/serving-pipe.new", 0o600) == 0)
    try ServingFile.leave(Self.server, in: folder.path)
    #expect(try folder.names.isSuperset(of: names))
  }

  @Test(.enabled(if: geteuid() == 0, "only root gives a file away")) func anothersFileStays() throws {
    let folder = try Folder()
    let descriptor = try folder.made("serving-a.new")
    try #require(fchown(descriptor, 65_534, 65_534) == 0)
    close(descriptor)
    try ServingFile.leave(Self.server, in: folder.path)
    #expect(try folder.names.contains("serving-a.new"))
  }

  /// Each may take the file that another one is writing for one that was left.
  @Test func serversThatStartAtOnceAreAllSeen() async throws {
    let folder = try Folder()
    let path = folder.path
    let count = 64
    try await withThrowingTaskGroup { group in
      for _ in 0..<count { group.addTask { try ServingFile.leave(Self.server, in: path) } }
      try await group.waitForAll()
    }
    #expect(try ServingFile.servers(in: path).count == count)
    #expect(try folder.names.count == count)
  }

  @Test func aServerThatCommandsCannotSeeIsAFailure() throws {
    let folder = try Folder()
    let error = #expect(throws: StorageError.self) {
      try ServingFile.leave(Self.server, in: folder.path + "/nowhere")
    }
    #expect(error?.detail == String(cString: strerror(ENOENT)))
  }
}
