import Glibc
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
    #expect(try kept.forget(1_000))
    #expect(try !kept.forget(7))
    #expect(try kept.users() == [100])
    #expect(try kept.key(of: 1_000) == nil)
  }

  @Test func forgettingAllSaysWhose() throws {
    #expect(try kept.write([1], of: 1_000, .host, since: nil))
    #expect(try kept.write([1], of: 100, .tpm2, since: nil))
    #expect(try kept.forgetAll() == [100, 1_000])
    #expect(try kept.users().isEmpty)
    #expect(try kept.forgetAll().isEmpty)
  }

  @Test(arguments: [false, true])
  func whatAKilledWriterLeftIsForgottenToo(_ isForAll: Bool) throws {
    #expect(try kept.write([1], of: 1_000, .host, since: nil))
    try folder.write("state/keyring/1000.host.new", "half")
    if isForAll { #expect(try kept.forgetAll() == [1_000]) } else { #expect(try kept.forget(1_000)) }
    #expect(access(folder.path + "/state/keyring/1000.host.new", F_OK) != 0)
  }

  @Test func lookingAndForgettingMakeNoFolder() throws {
    #expect(try kept.users().isEmpty)
    #expect(try kept.forgetAll().isEmpty)
    #expect(try !kept.forget(1_000))
    #expect(access(folder.path + "/state", F_OK) != 0)
  }

  @Test func whatIsBeingSealedIsForgottenToo() throws {
    let began = try kept.lastForgetting()
    try kept.forget(1_000)
    #expect(try !kept.write([1], of: 1_000, .host, since: began))
    #expect(try kept.users().isEmpty)
    let next = try kept.lastForgetting()
    #expect(try kept.write([1], of: 1_000, .host, since: next))
    _ = try kept.forgetAll()
    #expect(try kept.lastForgetting() != next)
  }
}
