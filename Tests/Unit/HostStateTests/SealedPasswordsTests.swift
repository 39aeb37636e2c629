import Testing

@testable import HostState
@testable import HostSystem

@Suite struct SealedPasswordsTests {
  private let folder: TemporaryFolder
  private let kept: SealedPasswords

  init() throws {
    folder = try TemporaryFolder()
    kept = SealedPasswords(state: RunFolder(path: folder.path + "/state"))
  }

  @Test func aUserHasOneFileWhateverItIsSealedWith() throws {
    try kept.write([1], of: 1_000, .host)
    try kept.write([2], of: 1_000, .tpm2)
    #expect(try kept.key(of: 1_000) == .tpm2)
    #expect(try kept.read(1_000, .tpm2) == [2])
    #expect(throws: FileError.self) { try kept.read(1_000, .host) }
    #expect(try kept.users() == [1_000])
  }

  @Test func forgettingIsForOneUser() throws {
    try kept.write([1], of: 1_000, .host)
    try kept.write([1], of: 100, .host)
    try kept.forget(1_000)
    try kept.forget(7)
    #expect(try kept.users() == [100])
    #expect(try kept.key(of: 1_000) == nil)
  }
}
