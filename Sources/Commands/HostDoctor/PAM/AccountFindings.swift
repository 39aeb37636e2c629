import HostState
import HostSystem
import IAMPASSProtocol
import PAMStacks

/// Findings about account lines of services that ask the phone: they may refuse a user whom the phone has approved.
public struct AccountFindings {
  /// Modules that refuse users by an administrator's rules, each with the file of its rules.
  private static let refusing = [
    "pam_access": "/etc/security/access.conf", "pam_time": "/etc/security/time.conf", "pam_listfile": "its file",
    "pam_succeed_if": "its condition", "pam_faillock": "failed passwords", "pam_tally2": "failed passwords",
    "pam_localuser": "/etc/passwd", "pam_exec": "its program", "pam_script": "its program",
    "pam_sss": "the directory", "pam_ldap": "the directory", "pam_winbind": "the directory",
    "pam_krb5": "the directory",
  ]

  private let stacks: [(service: String, lines: [PAMLine])]

  public init(stacks: [(service: String, account: [PAMEntry])]) {
    self.stacks = stacks.map { (service: $0.service, lines: $0.account.flatMap(\.lines)) }
  }

  /// Services that refuse a user whose account has expired.
  public var mindingAccounts: [String] {
    stacks.filter { $0.lines.contains { $0.moduleName == "pam_unix" } }.map(\.service)
  }

  /// Services that ask for a new password if it has expired, although the phone has approved.
  public var mindingPasswords: [String] {
    stacks.filter { stack in
      stack.lines.contains { $0.moduleName == "pam_unix" && !$0.arguments.contains("no_pass_expiry") }
    }.map(\.service)
  }

  /// One finding for each line that may refuse, with all its services.
  public var findings: [Finding] {
    var services: [String: [String]] = [:]
    var lines: [PAMLine] = []
    for stack in stacks {
      for line in stack.lines where Self.refusing[line.moduleName] != nil && line.control.lowercased() != "optional" {
        if services[line.place] == nil { lines.append(line) }
        services[line.place, default: []].append(stack.service)
      }
    }
    return lines.map { line in
      let asking = Set(services[line.place] ?? []).sorted().map { DisplayText.sanitized($0, limit: 64) }
      let rules = Self.refusing[line.moduleName] ?? ""
      return Finding(
        .ok, .pam,
        "\(line.place): \(line.moduleName) may refuse, by \(rules), whom the phone approved in "
          + asking.joined(separator: ", "))
    }
  }
}

/// Findings about users with a token whom the system's own account check stops after the phone has approved.
public struct PasswordFindings {
  /// Only users with an entry in shadow(5).
  private let verdicts: [(name: String, verdict: PasswordAge.Verdict)]
  private let mindsPasswords: Bool
  private let mindsAccounts: Bool

  /// - Parameters:
  ///   - today: the date in days since 1970.
  ///   - stacks: the account lines of the services that ask the phone.
  public init(_ ages: [(name: String, age: PasswordAge)], today: Int, stacks: AccountFindings) {
    verdicts = ages.map { (name: $0.name, verdict: $0.age.verdict(today: today)) }
    mindsPasswords = !stacks.mindingPasswords.isEmpty
    mindsAccounts = !stacks.mindingAccounts.isEmpty
  }

  public var findings: [Finding] {
    var findings: [Finding] = []
    func warn(_ verdict: PasswordAge.Verdict, _ text: String, _ hint: (String) -> String) {
      let names = verdicts.filter { $0.verdict == verdict }.map(\.name)
      guard let first = names.first else { return }
      findings.append(
        Finding(
          .warning, .users, "\(text): \(UserFindings.list(names))", hint: hint(DisplayText.sanitized(first, limit: 64)))
      )
    }
    if mindsPasswords {
      warn(.mustChange, "password has expired, asked for and changed after the phone has approved") {
        "passwd \($0); for users without a password, no_pass_expiry on the account line of pam_unix.so"
      }
      warn(.tooOld, "password has expired too long ago, refused after the phone has approved") { "passwd \($0)" }
    }
    if mindsAccounts {
      warn(.accountOver, "account has expired, refused after the phone has approved") { "chage --expiredate -1 \($0)" }
    }
    return findings
  }
}
