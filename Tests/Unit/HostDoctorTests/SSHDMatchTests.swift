import Testing

@testable import HostDoctor

@Suite struct SSHDMatchReaderTests {
  private func look(_ text: String, _ files: [String: String] = [:]) -> SSHDMatchReader.Result {
    let all = files.merging(["/etc/ssh/sshd_config": text]) { $1 }
    return SSHDMatchReader(
      read: { all[$0].map { Array($0.utf8) } },
      expand: { pattern in
        pattern.hasSuffix("/*.conf")
          ? all.keys.filter { $0.hasPrefix(pattern.dropLast(6)) && $0.hasSuffix(".conf") }.sorted() : [pattern]
      }
    ).look()
  }

  @Test func aBlockEndsAtTheNextOne() {
    let blocks = look("UsePAM yes\nMatch User alice\n X11Forwarding no\nmatch all\n\tKbdInteractiveAuthentication=no\n")
      .blocks
    #expect(blocks.map(\.place) == ["/etc/ssh/sshd_config:2", "/etc/ssh/sshd_config:4"])
    #expect(blocks.map(\.changesSignIn) == [false, true])
    #expect(blocks[1].criteria.isEmpty)
  }

  @Test(arguments: [
    "Match User alice,bob Group \"domain users\"", "  match user=alice,bob group='domain users' # why",
    "Match\tUser\talice,bob\tGroup\t\"domain users\"\r",
  ])
  func aLineIsReadAsSSHDReadsIt(_ line: String) {
    let criteria = look(line + "\nUsePAM no\n").blocks.first?.criteria ?? []
    #expect(criteria.map { $0.name.lowercased() } == ["user", "group"])
    #expect(criteria.map(\.patterns) == [["alice", "bob"], ["domain users"]])
  }

  /// A block that is included in another needs both lines, and ends with its file.
  @Test func anIncludedBlockHasTheCriteriaAroundIt() {
    let main = "Match User alice\nInclude more.d/*.conf\nPubkeyAuthentication no\n"
    let blocks = look(
      main,
      [
        "/etc/ssh/more.d/1.conf": "Match Address 192.0.2.0/24\nAuthenticationMethods publickey\n",
        "/etc/ssh/more.d/2.conf": "X11Forwarding no\n",
      ]
    ).blocks
    #expect(
      blocks.map(\.text) == [
        "Match User alice (/etc/ssh/sshd_config:1)",
        "Match User alice Address 192.0.2.0/24 (/etc/ssh/more.d/1.conf:1)",
      ])
    #expect(blocks.map(\.changesSignIn) == [true, true])
  }

  @Test func whatAnIncludedFileSetsBelongsToTheBlockAroundIt() {
    let blocks = look("Match User alice\nInclude /etc/a\n", ["/etc/a": "UsePAM no\n"]).blocks
    #expect(blocks.map(\.changesSignIn) == [true])
  }

  @Test func aFileThatIsNotReadIsNamed() {
    #expect(look("Include /etc/a\n").unread == ["/etc/a"])
    #expect(look("Include /etc/ssh/sshd_config\n").unread == ["/etc/ssh/sshd_config"])
  }
}

@Suite struct SSHDConnectionTests {
  private func connections(_ words: String, members: [String: [String]] = [:]) -> SSHDConnections {
    let words = words.split(separator: " ").map(String.init)
    let criteria = stride(from: 0, to: words.count, by: 2).map {
      SSHDMatchBlock.Criterion(name: words[$0], patterns: words[$0 + 1].split(separator: ",").map(String.init))
    }
    return SSHDConnections(of: SSHDMatchBlock(place: "f:1", criteria: criteria)) { members[$0] ?? [] }
  }

  @Test(arguments: [
    ("User alice,bob", ["user=alice", "user=bob"]),
    ("Address 192.0.2.0/24 User alice", ["user=alice,addr=192.0.2.0"]),
    ("Address 2001:db8::/32,10.1.2.3", ["addr=2001:db8::", "addr=10.1.2.3"]),
    ("LocalPort 2222 LocalAddress 10.0.0.1", ["laddr=10.0.0.1,lport=2222"]),
    ("RDomain vrf1 Host a.example", ["host=a.example,rdomain=vrf1"]),
    ("Group admins", ["user=bob", "user=carol"]), ("Group admins User alice,bob", ["user=bob"]),
  ])
  func eachNameGivesAConnection(_ words: String, _ texts: [String]) {
    let found = connections(words, members: ["admins": ["bob", "carol", "bob"]])
    #expect(found.texts == texts && found.reasons.isEmpty)
  }

  @Test(arguments: [
    ("User *", "User * has wildcards or negations"), ("Address 10.?.0.1", "Address 10.?.0.1 has wildcards"),
    ("User alice,!bob", "User alice,!bob has wildcards or negations"),
    ("Group gone", "Group gone has no known member"), ("Group admins User alice", "no connection is known"),
    ("Version OpenSSH_10", "what Version matches is not known here"),
  ])
  func nothingIsGuessed(_ words: String, _ reason: String) {
    let found = connections(words, members: ["admins": ["bob"]])
    #expect(found.texts.isEmpty)
    #expect(found.reasons.count == 1 && found.reasons[0].hasPrefix(reason))
  }

  /// Those that are named are asked about all the same.
  @Test func aNameBesideAWildcardIsTried() {
    let found = connections("User alice,admin*")
    #expect(found.texts == ["user=alice"] && found.reasons.count == 1)
  }

  @Test func theNumberOfConnectionsIsBounded() {
    let names = (0..<20).map { "u\($0)" }.joined(separator: ",")
    let found = connections("User \(names) Address 10.0.0.1,10.0.0.2")
    #expect(found.texts.count == SSHDConnections.greatestCount && found.reasons.count == 1)
  }
}

/// With what sshd 9.2 and 10.0 print.
@Suite struct SSHDMatchFindingTests {
  private static let usual = "usepam yes\npubkeyauthentication yes\nkbdinteractiveauthentication yes\n"
  private static let any = usual + "authenticationmethods any\n"

  private func findings(
    _ line: String, set: Bool = true, general: String = any, _ answer: @escaping (String) -> SSHDaemon.Answer
  ) -> [Finding] {
    let criteria = line.split(separator: " ").map(String.init)
    var block = SSHDMatchBlock(
      place: "/etc/ssh/sshd_config:4",
      criteria: [
        SSHDMatchBlock.Criterion(name: criteria[0], patterns: criteria[1].split(separator: ",").map(String.init))
      ]
    )
    block.changesSignIn = set
    return SSHDMatchFindings(
      general: SSHDSettings(general), asking: ["sshd"], members: { _ in ["alice", "bob"] }, answer: answer
    ).findings(SSHDMatchReader.Result(blocks: [block]))
  }

  @Test func aKeyThatOpensForAGroupIsAProblemWithFileAndLine() {
    let found = findings("Group admins") { _ in
      .settings(SSHDSettings(Self.usual + "authenticationmethods publickey publickey,keyboard-interactive\n"))
    }
    #expect(found.map(\.level) == [.problem])
    #expect(
      found.first?.text
        == "sshd: Match Group admins (/etc/ssh/sshd_config:4): AuthenticationMethods publickey "
        + "publickey,keyboard-interactive: one list is enough, so that publickey opens without the phone of "
        + "publickey,keyboard-interactive, as for user=alice")
  }

  /// The manual's own break-glass account.
  @Test func aBlockThatLeavesThePhoneOutOnPurposeIsAWarning() {
    let found = findings("User rescue") { _ in .settings(SSHDSettings(Self.usual + "authenticationmethods publickey\n"))
    }
    #expect(found.map(\.level) == [.warning])
    #expect(found.first?.text.contains("AuthenticationMethods publickey leaves keyboard-interactive out") == true)
  }

  @Test func eachUserIsAskedAbout() {
    let found = findings("User alice,bob") { connection in
      .settings(
        SSHDSettings(
          connection == "user=bob"
            ? "usepam yes\npubkeyauthentication no\nkbdinteractiveauthentication no\nauthenticationmethods any\n"
            : Self.any))
    }
    #expect(found.map(\.level) == [.problem])
    let said = "KbdInteractiveAuthentication is off: the phone is never asked, as for user=bob"
    #expect(found.first?.text.hasSuffix(said) == true)
  }

  @Test func aServiceOfItsOwnThatIsNotListedIsAProblem() {
    let found = findings("LocalPort 2222") { _ in .settings(SSHDSettings(Self.any + "pamservicename ssh2\n")) }
    #expect(found.map(\.level) == [.problem])
    #expect(found.first?.text.contains("PAMServiceName is ssh2, which does not ask the phone") == true)
  }

  @Test func aBlockThatAsksThePhoneIsWell() {
    let found = findings("User alice") { _ in .settings(SSHDSettings(Self.any)) }
    #expect(found.map(\.level) == [.ok])
    #expect(found.first?.text.hasSuffix("lets the phone be asked: tried for user=alice") == true)
  }

  @Test func whatIsWrongForEverybodyIsSaidOnce() {
    let off = Self.any.replacing("interactiveauthentication yes", with: "interactiveauthentication no")
    let found = findings("User alice", general: off) { _ in .settings(SSHDSettings(off)) }
    #expect(found.map(\.level) == [.ok])
    #expect(found.first?.text.contains("is as bad as what is outside of it") == true)
  }

  @Test func sshdIsNotAskedAboutABlockThatDecidesNothing() {
    #expect(
      findings("User *", set: false) { _ in
        Issue.record("asked")
        return .failed("")
      }.isEmpty)
  }

  @Test(arguments: [SSHDaemon.Answer.failed("no"), .notInstalled])
  func whatSSHDDoesNotTellIsAWarning(_ answer: SSHDaemon.Answer) {
    let found = findings("User alice") { _ in answer }
    #expect(found.map(\.level) == [.warning])
    #expect(found.first?.text.contains("cannot be judged: sshd -T -C user=alice failed") == true)
  }

  @Test func aWildcardIsAWarning() {
    let found = findings("User *") { _ in .notInstalled }
    #expect(found.map(\.level) == [.warning])
    #expect(found.first?.text.contains("Match User * (/etc/ssh/sshd_config:4) cannot be judged: ") == true)
  }
}
