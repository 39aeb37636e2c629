import Glibc
import HostState
import HostSystem
import IAMPASSProtocol
import Testing

/// A user with another user's token could sign in by the other's phone.
@Suite struct SharedTokensTests {
  private func token(
    _ name: String, _ text: String, _ sharing: SharedTokens = .refused, roots: [String] = ["root"]
  ) throws -> String? {
    let folder = try TemporaryFolder()
    let path = try folder.write("users", text)
    let user = try #require(UnixUsername(validating: name))
    return try UserTokens.token(of: user, inFile: path, sharing: sharing) { roots.contains($0.text) }?.exposedValue
  }

  private func isRefused(
    _ name: String, _ text: String, _ sharing: SharedTokens = .refused, roots: [String] = ["root"]
  ) -> Bool {
    do {
      _ = try token(name, text, sharing, roots: roots)
      return false
    } catch UserTokensError.tokenIsShared { return true } catch { return false }
  }

  @Test func isRefusedToBothByDefault() {
    #expect(isRefused("alice", "alice:1\nbob:1\n"))
    #expect(isRefused("bob", "alice:1\nbob:1\n"))
    #expect(isRefused("alice", "bob:1\nalice:1"))
  }

  @Test func anotherTokenIsNotShared() throws {
    #expect(try token("alice", "alice:1\nbob:11\ncarol:2:1\n#dora:1\nemil:1 \n") == "1")
    #expect(try token("alice", "alice:11\nbob:1\n") == "11")
  }

  @Test func isAllowedByALine() throws {
    #expect(try Configuration(parsing: Array("shared_tokens = allowed".utf8)).sharedTokens == .allowed)
    #expect(try Configuration(parsing: []).sharedTokens == .refused)
    #expect(try token("alice", "alice:1\nbob:1\n", .allowed) == "1")
  }

  @Test(arguments: [SharedTokens.refused, .allowed])
  func withRootItIsAlwaysRefused(_ sharing: SharedTokens) {
    #expect(isRefused("root", "alice:1\nroot:1\n", sharing))
    #expect(isRefused("alice", "alice:1\nbob:1\nroot:1\n", sharing))
    // Another name with uid 0.
    #expect(isRefused("alice", "toor:1\nalice:1\n", sharing, roots: ["toor"]))
  }

  @Test func whoeverCannotBeLookedUpMayBeRoot() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("users", "alice:1\nbob:1\ncarol:2\n")
    func token(_ name: String, _ sharing: SharedTokens) throws -> String? {
      try UserTokens.token(of: #require(UnixUsername(validating: name)), inFile: path, sharing: sharing) {
        (name) throws(UserLookupError) in
        if name.text == "bob" { throw .system(ECONNREFUSED) }
        return false
      }?.exposedValue
    }
    for name in ["alice", "bob"] {
      #expect(throws: UserTokensError.lookup(.system(ECONNREFUSED))) { try token(name, .allowed) }
    }
    #expect(throws: UserTokensError.tokenIsShared("alice", with: "bob")) { try token("alice", .refused) }
    #expect(try token("carol", .allowed) == "2")
    let misconfiguration = Misconfiguration.users(.lookup(.system(EIO)), path: path)
    #expect(misconfiguration.failedLookup == .system(EIO))
  }

  @Test func theSystemSaysWhoIsRoot() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("users", "daemon:1\nroot:1\n")
    let daemon = try #require(UnixUsername(validating: "daemon"))
    #expect(throws: UserTokensError.tokenIsShared("daemon", with: "root")) {
      try UserTokens.token(of: daemon, inFile: path, sharing: .allowed)
    }
  }

  @Test func aTokenIsRefusedIfTooManyUsersShareIt() throws {
    let few = (1...SharedTokens.greatestCount).map { "user\($0):1\n" }.joined()
    #expect(try token("user1", few, .allowed) == "1")
    #expect(isRefused("user1", few + "another:1\n", .allowed))
    #expect(isRefused("last", few + few.replacing("user", with: "more") + "last:1\n", .allowed))
  }

  @Test(arguments: [1, 65_500, 131_030])
  func isFoundWhereverItStands(_ size: Int) {
    let others = String(repeating: "someone-else:12345\n", count: size / 19 + 1)
    #expect(isRefused("alice", "bob:1\n\(others)alice:1\n"))
    #expect(isRefused("alice", "alice:1\n\(others)bob:1"))
  }

  @Test func damagedLinesElsewhereHideNoSharing() {
    #expect(isRefused("alice", "carol:3\r\nalice:1\nbob:1\n"))
  }

  @Test func namesAllGroups() throws {
    let tokens = try UserTokens(parsing: Array("a:1\nb:2\n#x:1\nc:1\nd:3\ne:2\n".utf8))
    #expect(tokens.sharedTokens() == [["a", "c"], ["b", "e"]])
    #expect(tokens.users(having: Secret("1")) == ["a", "c"])
  }

  @Test func importsNoSharedTokenUnlessItIsAllowed() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("users", "a:1\n")
    let entries = try ["b", "c"].map { (user: try #require(UnixUsername(validating: $0)), token: Secret("1")) }
    #expect(throws: UserTokensError.tokenIsAnothers("a")) {
      try UserTokensEditor(path: path).checkAddition(of: entries)
    }
    #expect(throws: UserTokensError.tokenIsAnothers("a")) { try UserTokensEditor(path: path).add(entries) }
    try UserTokensEditor(path: path, sharing: .allowed).add(entries)
    #expect(try UserTokens(path: path).users() == ["a", "b", "c"])
    let root = [(user: try #require(UnixUsername(validating: "root")), token: Secret("1"))]
    #expect(throws: UserTokensError.tokenIsAnothers("a")) {
      try UserTokensEditor(path: path, sharing: .allowed).add(root)
    }
  }
}
