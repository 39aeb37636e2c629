import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

@Suite struct ListenerTests {
  private static let all: [Route] = [
    .announcement, .health, .signingKeys, .openID(.token), .join, .management(.addUsers, application: "office"),
    .session(.status(id: "1")), .phone(.answer), .phoneFile(name: "app.js"),
  ]

  @Test func withoutOneOfItsOwnTheConsoleIsBesideTheRest() {
    for route in Self.all + [.console([]), .root] { #expect(Listener.everything.takes(route)) }
  }

  @Test func withOneTheOtherDoesNotHaveTheConsole() {
    for route in Self.all + [.root] { #expect(Listener.allButConsole.takes(route)) }
    #expect(!Listener.allButConsole.takes(.console([])) && !Listener.allButConsole.takes(.console(["sign-in"])))
  }

  @Test func theConsolesHasNothingElse() {
    let console = Listener.console(url: nil)
    for route in Self.all { #expect(!console.takes(route)) }
    #expect(console.takes(.console(["users"])) && console.takes(.root))
  }
}
