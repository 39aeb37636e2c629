import GRDB
import Glibc
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

@Suite struct RegistrationHookTests {
  /// A program that keeps its input.
  private func program(_ script: String, in fixture: Fixture) throws -> String {
    let path = fixture.folder + "/hook"
    try write("#!/bin/sh\n" + script + "\n", to: path)
    return path
  }

  private func write(_ text: String, to path: String) throws {
    let file = try #require(fopen(path, "w"))
    fputs(text, file)
    fclose(file)
    chmod(path, 0o700)
  }

  private func send(_ fixture: Fixture, number: String = "+4915112345678", message: String? = nil) async throws
    -> ServiceReply
  {
    let body = RegistrationMessageRequest(phoneNumber: number, displayName: "Alice", message: message).encoded()
    return await fixture.respond(
      try fixture.signed("POST", "/management/send_registration_sms/\(fixture.application.id)/alice", body))
  }

  private func office(_ script: String) async throws -> Fixture {
    let fixture = try await Fixture()
    try await fixture.addUser("alice")
    let path = try program(script, in: fixture)
    try await fixture.service.storage.write { [id = fixture.application.id] db in
      var settings = ApplicationSettings()
      settings.hook = path
      try settings.store(for: id, in: db)
    }
    return fixture
  }

  @Test func theProgramGetsNumberAndMessage() async throws {
    let fixture = try await office("cat > \"$0.got\"")
    let reply = try await send(fixture, message: "Hello;")
    #expect(reply.status == 200 && reply.reason == nil)
    let file = try #require(fopen(fixture.folder + "/hook.got", "r"))
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 4_096)
    let count = fread(&bytes, 1, bytes.count, file)
    let text = String(decoding: bytes.prefix(count), as: UTF8.self)
    #expect(text.firstMatch(of: /^\+4915112345678\nHello; https:\/\/iampass\.test\/register\/[0-9a-f]{32}\n$/) != nil)
  }

  /// Otherwise anyone with the console would have a shell, and with it every secret.
  @Test func onlyRootsOwnProgramsOfTheFolderAreRun() async throws {
    let fixture = try await office("exit 0")
    let folder = fixture.folder
    func problem(_ path: String) -> String? { RegistrationHook.problem(with: path, in: folder) }
    #expect(problem(folder + "/hook") == nil && problem("") == nil)
    for path in ["/bin/sh", folder, folder + "/", folder + "/../hook", folder + "/x/hook", "hook", folder + "/none"] {
      #expect(problem(path) != nil, "\(path)")
    }
    try #require(symlink("/bin/sh", folder + "/link") == 0)
    #expect(problem(folder + "/link") != nil)
    chmod(folder + "/hook", 0o722)
    #expect(problem(folder + "/hook") != nil)
    // The program was stored earlier.
    #expect(try await send(fixture).reason == "SMS_NOT_SENT")
    chmod(folder + "/hook", 0o700)
    chown(folder + "/hook", 65_534, 65_534)
    #expect(problem(folder + "/hook") != nil)
  }

  @Test func aProgramThatFailsIsNotBelieved() async throws {
    let reply = try await send(try await office("exit 1"))
    #expect(reply.status == 200)
    #expect(try AcknowledgementReply(parsing: reply.body).reason == "SMS_NOT_SENT")
  }

  @Test(arguments: ["-x", "+1", "+49 151 1", "+49151;rm", "00491511234567"])
  func whatIsNotANumberIsRefused(_ number: String) async throws {
    #expect(try await send(try await office("exit 0"), number: number).reason == "BAD_PHONE_NUMBER")
  }

  @Test func aProgramThatHangsIsKilledWithWhatItStarted() async throws {
    let fixture = try await office("sleep 1000 & sleep 1000")
    let path = fixture.folder + "/hook"
    #expect(await RegistrationHook.run(path, number: "+4915112345678", message: "x", patience: 1) == false)
  }
}
