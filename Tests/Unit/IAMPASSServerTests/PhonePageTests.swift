import Foundation
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

struct PhonePageTests {
  private func get(_ target: String, in fixture: Fixture, _ headers: [(name: String, value: String)] = []) async
    -> ServiceReply
  {
    await fixture.respond(
      ServiceRequest(method: "GET", target: target, authority: Fixture.authority, headers: headers))
  }

  @Test func sendsEachFileThatThePageNames() async throws {
    let fixture = try await Fixture()
    let sources = [PageFile.phone] + PageFile.beside.values
    var named: Set<String> = []
    for source in sources where source.contentType.hasPrefix("text/") || source.contentType.contains("json") {
      let text = String(decoding: source.bytes, as: UTF8.self)
      for match in text.matches(of: /["'\/]([a-z0-9-]+\.(?:js|css|svg|png|webmanifest))["']/) {
        named.insert(String(match.1))
      }
    }
    #expect(named == Set(PageFile.beside.keys))
    for name in named { #expect(await get("/phone/" + name, in: fixture).status == 200) }
  }

  @Test func hasNothingInlineAndNothingOfOthers() {
    let page = String(decoding: PageFile.phone.bytes, as: UTF8.self)
    #expect(!page.contains(/<script(?![^>]* src="\.\.\/phone\/)/))
    #expect(!page.contains("<style") && !page.contains(" style=") && !page.contains(/\son[a-z]+=/))
    for file in [PageFile.phone] + PageFile.beside.values where file.contentType.hasPrefix("text/") {
      let text = String(decoding: file.bytes, as: UTF8.self)
      #expect(!text.contains(/https?:\/\/[a-z]/), "an address of somebody else's")
      #expect(!text.contains("innerHTML") && !text.contains("insertAdjacentHTML"), "text could become markup")
    }
  }

  @Test func givesALinkToBrowsersAsAPageAndToProgramsAsJSON() async throws {
    let fixture = try await Fixture()
    try await fixture.addUser("alice")
    let target = "/register/" + (try await fixture.linkCode(for: "alice")).exposedValue
    let browser = await get(target, in: fixture, [("Accept", "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8")])
    #expect(browser.header("Content-Type") == "text/html; charset=utf-8")
    for accept in ["application/json", "*/*"] {
      let program = await get(target, in: fixture, [("Accept", accept)])
      #expect(program.header("Content-Type") == "application/json")
      #expect(program.header("Vary") == "Accept")
    }
  }

  @Test func saysHSTSOnlyForAWholeHost() async throws {
    for (url, isSaid) in [
      ("https://iampass.test", true), ("https://iampass.test:8443", false), ("https://iampass.test/below", false),
    ] {
      let fixture = try await Fixture(publicURL: url)
      let reply = await get("/phone/", in: fixture)
      #expect(reply.status == 200)
      #expect((reply.header("Strict-Transport-Security") != nil) == isSaid, "\(url)")
    }
  }

  @Test func leadsABareAddressToThePage() async throws {
    let fixture = try await Fixture()
    for target in ["/", "/phone"] {
      let reply = await get(target, in: fixture)
      #expect(reply.status == 302)
      #expect(reply.header("Location") == Fixture.origin + "/phone/")
    }
  }
}
