import Glibc
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import Testing

/// These run as root, as the module does.
@Suite struct SecureFileTests {
  private func code(_ path: String, privacy: SecureFile.Privacy = .secret, limit: Int = 64) -> FileError.Code? {
    do throws(FileError) {
      _ = try SecureFile.read(path, privacy: privacy, limit: limit)
      return nil
    } catch { return error.code }
  }

  @Test func readsWhatOnlyRootCanRead() throws {
    let folder = try TemporaryFolder()
    #expect(try SecureFile.read(folder.write("a", "text"), privacy: .secret, limit: 4) == Array("text".utf8))
  }

  @Test(arguments: [
    (UInt32(0o644), FileError.Code.readableByOthers), (0o620, .writableByOthers), (0o602, .writableByOthers),
    (0o640, .readableByOthers),
  ])
  func refusesASecretThatOthersReach(_ mode: UInt32, _ expected: FileError.Code) throws {
    let folder = try TemporaryFolder()
    #expect(code(try folder.write("a", "text", mode: mode)) == expected)
  }

  @Test func refusesAnotherOwner() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("a", "text")
    chown(path, 65_534, 65_534)
    #expect(code(path) == .notOwnedByRoot)
  }

  @Test func refusesLinksFoldersAndPipes() throws {
    let folder = try TemporaryFolder()
    let file = try folder.write("a", "text")
    symlink(file, folder.path + "/link")
    symlink("/nowhere", folder.path + "/dangling")
    mkdir(folder.path + "/folder", 0o700)
    mkfifo(folder.path + "/pipe", 0o600)
    #expect(code(folder.path + "/link") == .symbolicLink)
    #expect(code(folder.path + "/dangling") == .symbolicLink)
    #expect(code(folder.path + "/folder") == .notRegular)
    #expect(code(folder.path + "/pipe") == .notRegular)
    #expect(code("/dev/zero") == .notRegular)
    #expect(code(folder.path + "/missing") == .missing)
  }

  @Test func refusesAFolderThatOthersWrite() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("a", "text")
    chmod(folder.path, 0o777)
    #expect(code(path) == .folderWritableByOthers)
  }

  /// The folder keeps the mode that it had.
  @Test(arguments: [(UInt32(0o777), "chmod go-w /etc/iampass"), (0o755, "chown root:root /etc/iampass")])
  func namesTheCommandThatMendsTheFolder(_ mode: UInt32, _ command: String) {
    #expect(FileError(.folderWritableByOthers, path: "/etc/iampass/users", mode: mode).hint == command)
  }

  @Test func refusesMoreThanItsLimit() throws {
    let folder = try TemporaryFolder()
    #expect(code(try folder.write("a", "12345"), limit: 4) == .tooLarge)
  }

  @Test func namesPathAndModeAndTheCommandThatMends() {
    let error = FileError(.readableByOthers, path: "/etc/iampass/users", mode: 0o644)
    #expect(error.explanation == "/etc/iampass/users is readable by group or others (mode 0644)")
    #expect(error.hint == "chmod 600 /etc/iampass/users")
  }
}

@Suite struct UserTokensTests {
  private let alice = UnixUsername(validating: "alice")!

  private func token(_ text: String) throws -> String? {
    try UserTokens(parsing: Array(text.utf8)).token(of: alice)?.exposedValue
  }

  private func tokenInFile(_ text: String) throws -> String? {
    let folder = try TemporaryFolder()
    return try UserTokens.token(of: alice, inFile: try folder.write("users", text), sharing: .refused)?.exposedValue
  }

  @Test func findsTheUsersOwnLine() throws {
    #expect(try token("# people\nmalice:1\nalice2:2\n\nalice:3\nbob:4") == "3")
    #expect(try token("alic:1\nalicee:2\n") == nil)
    #expect(try token("") == nil)
    #expect(try token("alice:last-without-newline") == "last-without-newline")
  }

  @Test(arguments: [
    ("alice:1\nalice:2\n", UserTokensError.userNamedTwice(line: 2)), ("alice:\n", .badToken(line: 1)),
    ("bob:1\nalice:a b\n", .badToken(line: 2)), ("alice:a:b\n", .badToken(line: 1)),
    ("bob:1\r\nalice:2\r\n", .notText(line: 2)), ("bob:1\nalice:2\0\n", .notText(line: 2)),
    ("\u{FEFF}alice:1\n", .notText(line: 1)), ("alice:é\n", .badToken(line: 1)),
    // The line may be hers. Without the line she would count as a user without a token.
    ("bob:1\nal\0ice:2\n", .notText(line: 2)), ("bob:1\ralice:2\rcarol:3\n", .notText(line: 1)),
    ("\ralice:2", .notText(line: 1)), ("alice\0:2\n", .notText(line: 1)),
    ("alice:2\nbob:1\0alice:3", .notText(line: 2)),
  ])
  func refusesALineItCannotTrust(_ text: String, _ expected: UserTokensError) {
    #expect(throws: expected) { try token(text) }
    #expect(throws: expected) { try tokenInFile(text) }
  }

  @Test func findsTheUsersLineInAFile() throws {
    #expect(try tokenInFile("# people\nmalice:1\nalice2:2\n\nalice:3\nbob:4") == "3")
    #expect(try tokenInFile("alic:1\nalicee:2\n") == nil)
    #expect(try tokenInFile("") == nil)
    #expect(try tokenInFile("alice:last-without-newline") == "last-without-newline")
  }

  /// The file is read in pieces of 64 KiB. Each length moves the user's line by one byte across the border.
  @Test(arguments: [65_500, 131_030, 200_000], [0, 1, 2, 7, 8, 9, 10, 11, 30, 36])
  func findsTheUsersLineWhereverAPieceEnds(_ size: Int, _ more: Int) throws {
    let others = String(repeating: "someone-else:12345\n", count: size / 19) + String(repeating: "b", count: more + 1)
    #expect(try tokenInFile(others + ":1\nalice:3\n" + others + ":2\n") == "3")
    #expect(try tokenInFile(others + ":1\nmalice:3\n" + others + ":alice:2\n") == nil)
  }

  @Test func aLineLongerThanAPieceHidesNobody() throws {
    let long = String(repeating: "alice:", count: 50_000)
    #expect(try tokenInFile("x\(long)\nalice:3\n# \(long)") == "3")
  }

  @Test func whatIsWrongInALaterPieceIsFound() throws {
    let others = String(repeating: "someone-else:12345\n", count: 10_000)
    #expect(throws: UserTokensError.userNamedTwice(line: 10_002)) { try tokenInFile("alice:1\n\(others)alice:2\n") }
    #expect(throws: UserTokensError.notText(line: 10_002)) { try tokenInFile("alice:1\n\(others)alice:2\r\n") }
    #expect(throws: UserTokensError.badToken(line: 10_001)) { try tokenInFile("\(others)alice:\n") }
  }

  @Test(arguments: ["bob:2\r", "\rbob:2", "b\0ob:2", "malice:2\r", "#alice:9\r", "\r", "\0"])
  func aDamagedLineRefusesItsOwnUserAlone(_ damaged: String) throws {
    for text in ["alice:1\n\(damaged)\n", "\(damaged)\nalice:1", "\(damaged)\nalice:1\n\(damaged)\n"] {
      #expect(try token(text) == "1")
      #expect(try tokenInFile(text) == "1")
    }
    #expect(try token("\(damaged)\n") == nil)
  }

  @Test(arguments: [[0xFF, 0xFE], [0xFE, 0xFF]] as [[UInt8]])
  func anotherEncodingRefusesTheFile(_ mark: [UInt8]) throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("users", mark + Array("\nalice:1\n".utf8))
    #expect(throws: UserTokensError.notText(line: 1)) {
      try UserTokens.token(of: alice, inFile: path, sharing: .refused)
    }
    #expect(throws: UserTokensError.notText(line: 1)) { try UserTokens(path: path) }
  }

  @Test func tellsOfDamagedLines() throws {
    #expect(try UserTokens(parsing: Array("a:1\r\nb:2\n#\r\n\0\n".utf8)).damagedLines() == [1, 4])
  }

  @Test(arguments: [
    "", "-rf", "a b", "a\nb", "a:b", "../../etc", "root\n", String(repeating: "x", count: 257), "a\u{7F}", "\u{FFFD}",
  ])
  func refusesInvalidUsernames(_ text: String) {
    #expect(UnixUsername(validating: text) == nil)
  }

  @Test func canonicalNameComesFromTheSystem() throws {
    let root = try #require(UnixUsername(validating: "root"))
    #expect(try SystemUser.find(named: root)?.uid == 0)
    #expect(try SystemUser.find(uid: 0)?.name == root)
    let nobody = try #require(UnixUsername(validating: "nobody-has-this-name"))
    #expect(try SystemUser.find(named: nobody) == nil)
  }

  @Test func editorKeepsWhatIsThereAndAddsOnce() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("users", "bob:1\n# kept")
    let editor = UserTokensEditor(path: path)
    let added = try editor.token(of: alice, orAdd: Secret("new"))
    #expect(added.token == Secret("new") && added.isNew)
    let kept = try editor.token(of: alice, orAdd: Secret("newer"))
    #expect(kept.token == Secret("new") && !kept.isNew)
    let text = try SecureFile.read(path, privacy: .secret, limit: 100)
    #expect(String(decoding: text, as: UTF8.self) == "bob:1\n# kept\nalice:new\n")
    try editor.remove(alice, token: Secret("new"))
    #expect(try UserTokens(path: path).users() == ["bob"])
  }
}

@Suite struct UnixUsernameTests {
  @Test func twoSpellingsOfOneLetterAreTwoUsers() throws {
    let composed = try #require(UnixUsername(validating: "ren\u{E9}"))
    let decomposed = try #require(UnixUsername(validating: "rene\u{301}"))
    #expect(composed.text == decomposed.text)
    #expect(composed != decomposed)
    #expect(Set([composed, decomposed, composed]).count == 2)
  }
}

@Suite struct ConfigurationTests {
  private func read(_ text: String) throws -> Configuration { try Configuration(parsing: Array(text.utf8)) }

  @Test func emptyFileHasTheDocumentedDefaults() throws {
    let configuration = try read("")
    #expect(configuration.server == nil)
    #expect(configuration.services == ["sudo", "sudo-i", "login", "sshd"])
    #expect(configuration.approvalTimeout == 30)
    #expect(configuration.sessionDuration == 43_200)
    #expect(configuration.workerUser == "_iampass")
    #expect(try read("users_from_service = \(configuration.userSelection.text)") == configuration)
  }

  @Test func readsValuesAndKeepsUnknownKeys() throws {
    let configuration = try read(
      "server = https://h:8443/x\n  session_duration=45m\n"
        + "future = 1\nservices = sudo, su\n# comment\nsigned_replies = required")
    #expect(configuration.server?.description == "https://h:8443/x")
    #expect(configuration.sessionDuration == 2_700)
    #expect(configuration.unknownKeys == ["future"])
    #expect(configuration.services == ["sudo", "su"])
    #expect(configuration.requiresSignedReplies)
    #expect(!configuration.requiresSignedTargets)
  }

  @Test func signedTargetsAreSignedRepliesWhateverElseIsSaid() throws {
    for line in ["", "signed_replies = off\n", "signed_replies = required\n"] {
      let configuration = try read(line + "server = http://127.0.0.1:8080\nsigned_targets = required\n")
      #expect(configuration.requiresSignedReplies && configuration.requiresSignedTargets)
    }
    let folder = try TemporaryFolder()
    let path = try folder.write(
      "iampass.conf", "server = http://127.0.0.1:8080\nsigned_targets = required\n", mode: 0o644)
    let settings = try HostSetup(path: path).serviceSettings()
    #expect(settings.signedReplies && settings.signedTargets)
  }

  @Test(arguments: [
    "server = http://example.com", "server = x", "approval_timeout = 0", "approval_timeout = -1",
    "approval_timeout = 1e99", "approval_timeout = 91s", "max_requests = 0", "max_requests = 1000000",
    "signing = maybe",
    "run_dir = relative", "worker_user = -x", "services = /etc/passwd", "services = sudo ../x", "services = @console",
    "long_command = cut", "services = sudo \u{30C}x", "services = sudo,\u{E9}", "send_command = true",
    "signed_replies =", "signed_targets = on",
    // If these counted as unset, the host would trust other authorities, bypass the proxy, or not lock.
    "ca_file = relative.pem", "proxy = socks://a", "on_unreachable = shout",
  ])
  func aBadValueRefusesTheWholeFile(_ line: String) {
    let key = String(line.prefix { $0 != " " })
    #expect { try read("dialect = iampass\n" + line) } throws: { error in
      guard case ConfigurationError.badValue(key, line: 2, takes: _) = error else { return false }
      return true
    }
  }

  @Test(arguments: [
    "server", "= x", "a b = c", "server = https://h\r", "x\0 = 1", "\u{FEFF}server = https://h", "Server = https://h",
  ])
  func refusesInvalidLines(_ line: String) {
    #expect(throws: ConfigurationError.keyValue(.badLine(1))) { try read(line) }
  }

  /// A combining mark forms one character with the blank, equals sign or comment sign before it.
  @Test(arguments: [
    ("proxy =\u{301}http://a", nil), ("proxy = http://a \u{301}", "http://a \u{301}"),
    ("#\u{301} proxy = http://a", ""),
    ("\u{301}proxy = http://a", nil),
  ])
  func marksThatCombineChangeNoLine(_ line: String, _ proxy: String?) throws {
    #expect((try? read(line)).map { $0.proxy ?? "" } == proxy)
  }

  @Test func refusesAKeyThatStandsTwice() {
    #expect(throws: ConfigurationError.keyValue(.keyTwice("signing", line: 2))) {
      try read("signing = client\nsigning = documented")
    }
  }

  @Test(arguments: [("45s", 45), ("15m", 900), ("12h", 43_200), ("7", 7)])
  func readsTimeSpans(_ text: String, _ seconds: Int64) {
    #expect(TimeSpan.seconds(text) == seconds)
  }

  @Test(arguments: ["", "s", "1d", "-1s", "1.5h", "９s", "99999999999h"])
  func refusesInvalidTimeSpans(_ text: String) {
    #expect(TimeSpan.seconds(text) == nil)
  }

  @Test(arguments: [
    ("application_id = a", CredentialsError.missing("application_secret")),
    ("application_id = a\napplication_secret =", .missing("application_secret")),
    ("application_id = a b\napplication_secret = c", .badValue("application_id", line: 1)),
    ("application_id = a\napplication_secret = c\nhost =", .badValue("host", line: 3)),
    (
      "application_id = a\nhost = " + String(repeating: "h", count: 1_001) + "\napplication_secret = c",
      .badValue("host", line: 2)
    ),
    ("application_id = a\nhost = b\nhost = b\napplication_secret = c", .keyValue(.keyTwice("host", line: 3))),
  ])
  func refusesIncompleteCredentials(_ text: String, _ expected: CredentialsError) throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("credentials", text)
    #expect(throws: expected) { try ServiceCredential(path: path) }
  }

  @Test(arguments: ["laptop-7", "Küche 2", String(repeating: "h", count: 1_000)])
  func readsTheHostOfAHostCredential(_ host: String) throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("credentials", "application_id = a\napplication_secret = c\nhost = \(host)\n")
    #expect(try ServiceCredential(path: path).host == host)
    #expect(try IssuedCredential(path: path).credential.host == host)
  }

  @Test func anApplicationsOwnCredentialHasNoHost() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("credentials", "application_id = a\napplication_secret = c\n")
    #expect(try ServiceCredential(path: path).host == nil)
  }
}
