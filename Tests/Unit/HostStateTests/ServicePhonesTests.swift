import Glibc
import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import Testing

@testable import HostState

/// Whose phones an approval may come from if administrators sign the list.
@Suite struct ServicePhonesTests {
  private let folder: String
  private let daemon: UnixUsername
  private let phone: PinnedPhone

  init() throws {
    folder = "/tmp/iampass-service-phones-" + (try #require(Digest.randomIdentifier()))
    _ = try RunFolder(path: folder).folder("service")
    daemon = try #require(UnixUsername(validating: "daemon"))
    phone = try SigningAdministrator.phone("p1")
    try configure("users = service\nusers_from_service = 1-59999\n")
    let credentials = "application_id = own\napplication_secret = abcdefghijklmnopqrstuvwx\n"
    try AtomicFile.write(Array(credentials.utf8), to: folder + "/credentials", mode: 0o600)
    try list(phone, for: "daemon")
  }

  private func configure(_ text: String) throws {
    let settings = "server = https://h\napprovals = verified\nstate_dir = \(folder)\n" + text
    try AtomicFile.write(Array(settings.utf8), to: folder + "/iampass.conf", mode: 0o644)
  }

  private func list(_ phone: PinnedPhone, for user: String, of credential: String = "own") throws {
    let text = "# iampass phones for=\(credential) epoch=1 version=2\n\(user):\(phone.fields)\n"
    try AtomicFile.write(Array(text.utf8), to: folder + "/service/phones", mode: 0o600)
  }

  private func phones(of user: String = "daemon") throws -> [PinnedPhone] {
    let name = try #require(UnixUsername(validating: user))
    return try #require(try HostSetup(path: folder + "/iampass.conf").phoneTrust).phones(of: name)
  }

  @Test func theSignedListsPhoneCounts() throws {
    #expect(try phones() == [phone])
    #expect(try phones(of: "bin").isEmpty)
  }

  @Test func aPhoneFarDownInTheFileIsFound() throws {
    let before = (0..<2_000).map { "a\($0)daemon:\(phone.fields)\n" }.joined()
    let text = "# iampass phones for=own epoch=1 version=2\n" + before + "daemon:\(phone.fields)\n"
    try AtomicFile.write(Array(text.utf8), to: folder + "/service/phones", mode: 0o600)
    #expect(try phones() == [phone])
    #expect(try HostSetup(path: folder + "/iampass.conf").servicePhones?.file()?.users().count == 2_001)
  }

  @Test func theComputersOwnFileComesFirst() throws {
    let own = try SigningAdministrator.phone("p2")
    try PinnedPhonesEditor(path: folder + "/phones").pin(own, for: daemon, replacing: true)
    #expect(try phones() == [own])
  }

  @Test func aUserOfTheComputersOwnFileHasNoPhoneOfTheService() throws {
    try AtomicFile.write(Array("daemon:token\n".utf8), to: folder + "/users", mode: 0o600)
    #expect(try phones().isEmpty)
  }

  @Test func rootAndUsersWhomTheComputerDoesNotTakeHaveNone() throws {
    try list(phone, for: "root")
    #expect(try phones(of: "root").isEmpty)
    try list(phone, for: "daemon")
    try configure("users = service\nusers_from_service = 1000-59999\n")
    #expect(try phones().isEmpty)
    try configure("")
    #expect(try phones().isEmpty)
  }

  @Test func anotherCredentialsListDoesNotCount() throws {
    try list(phone, for: "daemon", of: "other")
    #expect(try phones().isEmpty)
    try AtomicFile.write(
      Array("daemon:\(phone.fields)\n".utf8), to: folder + "/service/phones", mode: 0o600)
    #expect(try phones().isEmpty)
  }

  @Test func aFileThatOthersCanWriteIsRefused() throws {
    #expect(chmodFile(0o622) == 0)
    #expect(throws: PhoneTrustError.self) { try phones() }
  }

  private func chmodFile(_ mode: UInt32) -> Int32 { chmod(folder + "/service/phones", mode) }
}
