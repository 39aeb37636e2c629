import CommandSupport

/// Findings about `Match` blocks. Each is judged by sshd's own settings for connections that the block names.
struct SSHDMatchFindings {
  /// The most connections of all blocks together. sshd runs once for each.
  private static let greatestConnections = 128

  /// The settings for connections that no block names.
  let general: SSHDSettings
  /// The listed services whose stacks have the module.
  let asking: [String]
  /// The places of the lines that ring the phone for every password, by service. See
  /// ``StackJudgement/ringsForAnyPassword``.
  var ringing: [String: String] = [:]
  /// Gives the known users of a group.
  let members: (String) -> [String]
  /// Gives sshd's settings for a connection.
  let answer: (String) -> SSHDaemon.Answer

  func findings(_ found: SSHDMatchReader.Result) -> [Finding] {
    var left = Self.greatestConnections
    return found.unread.map {
      Finding(.warning, .sshd, "sshd: \($0) cannot be read: its Match blocks were not looked at")
    } + found.blocks.filter { isLookedAt($0) && !$0.criteria.isEmpty }.flatMap { findings($0, &left) }
  }

  private func isLookedAt(_ block: SSHDMatchBlock) -> Bool {
    block.changesSignIn || block.changesPasswords && !ringing.isEmpty
  }

  private func findings(_ block: SSHDMatchBlock, _ left: inout Int) -> [Finding] {
    let connections = SSHDConnections(of: block, members: members)
    var findings = connections.reasons.map { unjudged(block, $0) }
    var known: Set<String> = []
    var worst = Finding.Level.ok
    for connection in connections.texts {
      guard left > 0 else {
        findings.append(unjudged(block, "all blocks name more than \(Self.greatestConnections) connections"))
        break
      }
      left -= 1
      guard case .settings(let settings) = answer(connection) else {
        findings.append(unjudged(block, "sshd -T -C \(connection) failed"))
        break
      }
      let own = self.own(settings)
      worst = max(worst, own.map(\.level).max() ?? .ok)
      for finding in own where !isGeneral(finding) && known.insert(finding.text).inserted {
        let text = finding.text.dropFirst(Self.prefix.count)
        findings.append(
          Finding(
            finding.level, .sshd, "sshd: \(block.text): \(text), as for \(connection)",
            hint: finding.level == .ok ? nil : "mend the block, and look: sshd -T -C \(SSHDaemon.whole(connection))"))
      }
    }
    guard findings.isEmpty else { return findings }
    let tried = connections.texts.joined(separator: ", ")
    return [
      Finding(
        .ok, .sshd,
        worst == .ok
          ? "sshd: \(block.text) lets the phone be asked: tried for \(tried)"
          : "sshd: \(block.text) is as bad as what is outside of it: tried for \(tried)")
    ]
  }

  private static let prefix = "sshd: "

  private func own(_ settings: SSHDSettings) -> [Finding] {
    guard !asking.contains(settings.service) else {
      return settings.signInFindings + settings.passwordFindings(ringing: ringing[settings.service])
    }
    return [
      Finding(
        .problem, .sshd, "sshd: PAMServiceName is \(settings.service), which does not ask the phone")
    ]
  }

  /// Whether the same finding was reported for all connections.
  private func isGeneral(_ finding: Finding) -> Bool { own(general).contains { $0.text == finding.text } }

  private func unjudged(_ block: SSHDMatchBlock, _ reason: String) -> Finding {
    Finding(
      .warning, .sshd, "sshd: \(block.text) cannot be judged: \(reason)",
      hint: "ask sshd about a connection: sshd -T -C user=USER,host=HOST,addr=ADDRESS,laddr=ADDRESS,lport=22")
  }
}

/// The users of a group, from the system's sources.
enum GroupMembers {
  private static let command = "/usr/bin/getent"
  /// The most bytes of all users' lines.
  private static let greatestOutput = 16 * 1024 * 1024

  /// The known users of a group. A directory may leave out users whose primary group it is.
  static func known(_ group: String) -> [String] {
    guard let entry = lines(["group", group]).first, entry.count >= 4 else { return [] }
    let first = lines(["passwd"]).filter { $0.count >= 4 && $0[3] == entry[2] }.map { $0[0] }
    return entry[3].split(separator: ",").map(String.init) + first
  }

  private static func lines(_ words: [String]) -> [[String]] {
    guard let answer = Program.run([command] + words, greatestOutput: greatestOutput), answer.status == 0 else {
      return []
    }
    // This splits bytes: a combining mark in a user's own text would hide a colon.
    return answer.output.utf8.split(separator: UInt8(ascii: "\n")).map { line in
      line.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false).map { String(Substring($0)) }
    }
  }
}
