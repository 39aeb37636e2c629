import Glibc
import Testing

@testable import HostState
@testable import HostSystem

@Suite struct PresenceStatesTests {
  private let folder: TemporaryFolder
  private let states: PresenceStates

  init() throws {
    folder = try TemporaryFolder()
    states = PresenceStates(run: RunFolder(path: folder.path))
  }

  private func presence(_ user: String, _ state: UserPresence.State) throws -> UserPresence {
    UserPresence(user: try #require(UnixUsername(validating: user)), state: state, since: 42)
  }

  @Test func whatIsWrittenIsRead() throws {
    let all = try UserPresence.State.allCases.map { try presence("user-\($0)", $0) }
    try states.write(all)
    #expect(try states.read() == all)
  }

  @Test func nobodyIsLookedForBeforeItIsWritten() throws {
    #expect(try states.read() == [])
  }

  @Test func theFileOfSixteenUsersWithTheLongestNamesIsRead() throws {
    let name = String(repeating: "n", count: UnixUsername.greatestLength)
    let all = try (0..<BoundPhones.greatestCount).map { _ in try presence(name, .unarmed) }
    try states.write(all)
    #expect(try states.read() == all)
  }

  @Test(arguments: [
    "", "{}", #"{"version":2,"users":[]}"#, #"{"version":1,"users":[{"user":"alice","state":"near","since":1}]}"#,
    #"{"version":1,"users":[{"user":"a b","state":"left","since":1}]}"#,
    #"{"version":1,"users":[{"user":"alice","state":"left","since":-1}]}"#,
  ])
  func anythingElseSaysNothing(_ text: String) {
    #expect(PresenceStates.users(Array(text.utf8)) == nil)
  }

  @Test func aFileThatOthersWriteIsRefused() throws {
    try states.write([])
    #expect(chmod(states.path, 0o666) == 0)
    #expect(throws: FileError.self) { try states.read() }
  }
}
