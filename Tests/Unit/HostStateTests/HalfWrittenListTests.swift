import Glibc
import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import Testing

@testable import HostState

/// A signed list of which the computer wrote one of two files, and then went down.
@Suite struct HalfWrittenListTests {
  private let office: SigningFixture
  private let phone: PinnedPhone

  init() throws {
    office = try SigningFixture()
    phone = try SigningAdministrator.phone("p1")
  }

  private struct NotDone: Error {}

  private func list(_ number: Int64, _ phones: [PinnedPhone] = []) throws -> SignedUsers {
    var fetch = SignedListFetch(
      known: SignedListFetch.Known(version: nil, floor: nil) { nil }, fleet: office.fleet,
      origin: SigningAdministrator.origin, verifier: LibcryptoVerifier())
    guard case .done(let users, _, _) = fetch.took(try office.page([try SigningFixture.line("bob", phones)], number))
    else { throw NotDone() }
    return users
  }

  private func path(_ name: String) -> String { office.folder + "/service/" + name }
  private func text(_ name: String) throws -> [UInt8] {
    try SecureFile.read(path(name), privacy: .secret, limit: 65_536)
  }
  private func version(_ number: Int64) -> UserListVersion { UserListVersion(epoch: 1, number: number) }

  /// Nothing whole is kept, nothing below `floor` is taken, and the whole list of `floor` is.
  private func isBegunAgain(_ floor: Int64) throws {
    #expect(SignedUsers(office.place, credential: "own") == nil)
    #expect(SignedUsers.version(office.place, credential: "own") == nil)
    #expect(SignedUsers.floor(office.place, credential: "own") == version(floor))
    let fetch = office.fetch()
    #expect(fetch.next.since == 0 && fetch.next.signed?.epoch == 0)
    #expect(try !list(floor - 1).write(in: office.state))
    #expect(try list(floor).write(in: office.state))
    #expect(SignedUsers(office.place, credential: "own")?.version == version(floor))
  }

  /// A phone that was removed is not taken any more, though the users are those of before.
  @Test func thePhonesAreWrittenBeforeTheUsers() throws {
    // Nothing can take its place.
    _ = try office.state.folder("service")
    #expect(mkdir(path("users"), 0o700) == 0)
    #expect(throws: FileError.self) { try list(7).write(in: office.state) }
    #expect(String(decoding: try text("phones"), as: UTF8.self) == "# iampass phones for=own epoch=1 version=7\n")
    #expect(rmdir(path("users")) == 0)
    try isBegunAgain(7)
  }

  @Test(arguments: ["users", "phones"]) func filesOfTwoVersionsAreNotAList(_ old: String) throws {
    #expect(try list(7, [phone]).write(in: office.state))
    let former = try text(old)
    #expect(try list(9).write(in: office.state))
    try AtomicFile.write(former, to: path(old), mode: 0o600)
    try isBegunAgain(9)
  }

  @Test(arguments: ["users", "phones"]) func oneFileIsNotAList(_ lost: String) throws {
    #expect(try list(7, [phone]).write(in: office.state))
    #expect(unlink(path(lost)) == 0)
    try isBegunAgain(7)
  }

  @Test(arguments: ["users", "phones"]) func aFileWithoutItsFirstLineIsNotAList(_ headless: String) throws {
    #expect(try list(7, [phone]).write(in: office.state))
    let lines = try text(headless).drop { $0 != UInt8(ascii: "\n") }.dropFirst()
    try AtomicFile.write(Array(lines), to: path(headless), mode: 0o600)
    try isBegunAgain(7)
  }

  /// A computer that joins again begins with the list of its new credential, however new the former one was.
  @Test(arguments: [["users"], ["phones"], ["users", "phones"]])
  func filesOfAnotherCredentialAreNotAList(_ others: [String]) throws {
    #expect(try list(7, [phone]).write(in: office.state))
    for name in others {
      let text = String(decoding: try text(name), as: UTF8.self).replacing(" for=own ", with: " for=other ")
      try AtomicFile.write(Array(text.utf8), to: path(name), mode: 0o600)
    }
    #expect(SignedUsers(office.place, credential: "own") == nil)
    #expect(SignedUsers.version(office.place, credential: "own") == nil)
    #expect(SignedUsers.floor(office.place, credential: "own") == (others.count == 2 ? nil : version(7)))
  }

  /// Only the helper's first line may name a version: one of the list's users cannot.
  @Test func aVersionFurtherDownDoesNotCount() throws {
    #expect(try list(7, [phone]).write(in: office.state))
    let heading = Array("# iampass users for=own epoch=9 version=9\n".utf8)
    try AtomicFile.write(try text("users") + heading, to: path("users"), mode: 0o600)
    #expect(SignedUsers.floor(office.place, credential: "own") == version(7))
  }
}
