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
    #expect(try kept.write([1], of: 1_000, .host, since: nil))
    #expect(try kept.write([2], of: 1_000, .tpm2, since: nil))
    #expect(try kept.key(of: 1_000) == .tpm2)
    #expect(try kept.read(1_000, .tpm2) == [2])
    #expect(throws: FileError.self) { try kept.read(1_000, .host) }
    #expect(try kept.users() == [1_000])
  }

  @Test func forgettingIsForOneUser() throws {
    #expect(try kept.write([1], of: 1_000, .host, since: nil))
    #expect(try kept.write([1], of: 100, .host, since: nil))
    try kept.forget(1_000)
    try kept.forget(7)
    #expect(try kept.users() == [100])
    #expect(try kept.key(of: 1_000) == nil)
  }

  @Test func whatIsBeingSealedIsForgottenToo() throws {
    let began = try kept.lastForgetting()
    try kept.forget(1_000)
    #expect(try !kept.write([1], of: 1_000, .host, since: began))
    #expect(try kept.users().isEmpty)
    let next = try kept.lastForgetting()
    #expect(try kept.write([1], of: 1_000, .host, since: next))
    try kept.forget(1_000)
    #expect(try kept.lastForgetting() != next)
  }
}
