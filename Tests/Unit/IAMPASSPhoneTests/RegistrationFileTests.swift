import DeviceProtocol
import Glibc
import IAMPASSPhone
import IAMPASSProtocol
import Testing

@testable import PhoneCommands

/// `iampass-phone register` ends before it has stored the service's reply, and is run once more.
@Suite final class RegistrationFileTests {
  struct NotMade: Error {}

  private let folder: String

  init() throws {
    var template = Array("/tmp/iampass-test-XXXXXX".utf8CString)
    guard let made = mkdtemp(&template) else { throw NotMade() }
    folder = String(cString: made)
  }

  deinit {
    for name in ["/phone.json", "/phone.json.registering"] { unlink(folder + name) }
    rmdir(folder)
  }

  private var state: StateFile { StateFile(path: folder + "/phone.json") }

  private func file(_ digit: String = "a") throws -> RegistrationFile {
    let code = String(repeating: digit, count: 32)
    return RegistrationFile(state: state, link: try RegistrationLink("https://iampass.test/register/" + code))
  }

  private func register(_ file: RegistrationFile, _ service: ScriptedService) throws -> PhoneAccount {
    try PhoneRegistration(link: file.link, transport: service).register(in: file).account
  }

  /// The public key that the service was sent.
  private func sentKey(_ service: ScriptedService) throws -> String? {
    try JSON(parsing: try #require(service.asked.last).body)["public_key"]?.string
  }

  @Test func theSameLinkIsTriedAgainWithTheSameKeys() throws {
    #expect(try !file().isBegun)
    let stopped = ScriptedService([.failure(.interrupted)])
    #expect(throws: PhoneError.self) { try register(file(), stopped) }
    #expect(try !state.exists && file().isBegun)
    let service = ScriptedService([ScriptedService.registered])
    let account = try register(file(), service)
    let key = try sentKey(service)
    #expect(try key != nil && key == sentKey(stopped))
    #expect(try account.key.publicKeyText == key)
    #expect(try state.read().key.publicKeyText == key)
    #expect(try !file().isBegun, "the keys are in the state file alone")
  }

  @Test func anotherLinkHasKeysOfItsOwn() throws {
    let stopped = ScriptedService([.failure(.interrupted)])
    #expect(throws: PhoneError.self) { try register(file(), stopped) }
    #expect(try !file("b").isBegun)
    let service = ScriptedService([ScriptedService.registered])
    _ = try register(file("b"), service)
    #expect(try sentKey(service) != sentKey(stopped))
  }

  @Test func whatTheServiceRefusesIsNotKept() throws {
    let service = ScriptedService([ScriptedService.refusal(410, "LINK_USED")])
    #expect(throws: PhoneError.self) { try register(file(), service) }
    #expect(try !file().isBegun && !state.exists)
  }

  @Test func keysThatOthersCanReadAreNotTaken() throws {
    let stopped = ScriptedService([.failure(.interrupted)])
    #expect(throws: PhoneError.self) { try register(file(), stopped) }
    #expect(chmod(folder + "/phone.json.registering", 0o644) == 0)
    #expect(try !file().isBegun)
  }
}
