import HostSystem

/// What `sshd -T` prints: the settings in force for one connection.
public struct SSHDSettings: Sendable, Equatable {
  private var values: [String: String]

  public init(_ output: String) {
    var values: [String: String] = [:]
    for line in output.split(separator: "\n") {
      let words = line.split(separator: " ", maxSplits: 1)
      // The first one counts, as in sshd itself.
      if words.count == 2, values[String(words[0])] == nil { values[String(words[0])] = String(words[1]) }
    }
    self.values = values
  }

  public subscript(key: String) -> String? { values[key] }

  /// LoginGraceTime in seconds; 0 means unlimited.
  public var loginGraceTime: Int64? { self["logingracetime"].flatMap { Int64($0) } }

  /// Whether sshd can ask the phone. PAM does so only in keyboard-interactive.
  public var asksPAM: Bool { self["usepam"] == "yes" && self["kbdinteractiveauthentication"] == "yes" }

  /// Whether PAM may ask for passwords although PasswordAuthentication is off: keyboard-interactive asks for what PAM
  /// asks for. False if it takes a key as well.
  public var letsPAMTakePasswords: Bool {
    asksPAM && self["passwordauthentication"] == "no"
      && SSHDMethods(self["authenticationmethods"] ?? "any").takeKeyboardInteractiveAlone
  }

  /// What to set so that a password alone signs nobody in.
  public static let keyAsWell =
    "to ask for a key as well, set UsePAM yes, KbdInteractiveAuthentication yes and AuthenticationMethods "
    + "publickey,keyboard-interactive in a file of /etc/ssh/sshd_config.d"

  /// The finding if the password signs users without a phone in, although PasswordAuthentication is off.
  ///
  /// - Parameter passwordOpens: whether the PAM stack lets a user in by the password, without the phone.
  public func keyboardPasswordFinding(passwordOpens: Bool) -> Finding? {
    guard passwordOpens, letsPAMTakePasswords else { return nil }
    return Finding(
      .warning, .sshd,
      "sshd: PasswordAuthentication is off, but keyboard-interactive asks users without a phone for their password",
      hint: "\(Self.keyAsWell); or KbdInteractiveAuthentication no, so that sshd never asks the phone")
  }

  /// sshd's PAM service: PAMServiceName, which OpenSSH has from 9.8 on.
  public var service: String { self["pamservicename"] ?? SSHServer.usualService }

  /// Findings if `services` lists sshd's usual service, but sshd uses another one that is not listed.
  ///
  /// - Parameter asking: the listed services whose stacks have the module.
  public func findings(asking: [String]) -> [Finding] {
    guard asking.contains(SSHServer.usualService), !asking.contains(service) else { return [] }
    return [
      Finding(
        .problem, .sshd,
        "sshd: PAMServiceName is \(service), and not \(SSHServer.usualService) as in services: the phone is never asked",
        hint: "add \(service) to services and pam_iampass.so to its PAM file, or set PAMServiceName "
          + SSHServer.usualService)
    ]
  }

  /// The finding if `sshd -T` fails.
  ///
  /// - Parameter output: the output of `sshd -T`.
  static func unreadable(_ output: String) -> Finding {
    let reason = output.split(whereSeparator: \.isNewline).last.map { ": \($0)" } ?? ""
    let hint = SSHDaemon.missesFolder(output) ? "systemctl start ssh, which makes the folder" : "sshd -t"
    return Finding(.warning, .sshd, "sshd -T failed, so its settings were not looked at\(reason)", hint: hint)
  }

  /// The settings after `iampassctl enable --sshd` has written its file.
  public var withDropIn: SSHDSettings {
    var settings = self
    for line in SSHDaemon.dropIn {
      let words = line.split(separator: " ")
      settings.values[words[0].lowercased()] = String(words[1])
    }
    return settings
  }

  /// Findings about settings that keep sshd from asking PAM.
  private var switches: [Finding] {
    [("UsePAM", "usepam"), ("KbdInteractiveAuthentication", "kbdinteractiveauthentication")].compactMap { word, key in
      guard self[key] != "yes" else { return nil }
      return Finding(
        .problem, .sshd, "sshd: \(word) is off: the phone is never asked",
        hint: "iampassctl enable --sshd, or \(word) yes in a file of /etc/ssh/sshd_config.d that sorts first")
    }
  }

  /// Findings about settings of a `Match` block that decide whether the phone is asked. The block of a rescue account
  /// leaves the phone out on purpose (pam_iampass(8), Break-glass).
  var signInFindings: [Finding] { switches + methodFindings(withoutPhone: .warning) }

  /// - Parameter timeout: the module's longest wait, in seconds.
  public func findings(timeout: Int64) -> [Finding] {
    var findings = switches
    func add(_ level: Finding.Level, _ text: String, _ hint: String? = nil) {
      findings.append(Finding(level, .sshd, "sshd: \(text)", hint: hint))
    }
    if let grace = loginGraceTime, grace > 0, grace <= timeout {
      add(
        .warning, "LoginGraceTime of \(grace) s ends before the phone's time-out of \(timeout) s",
        "set approval_timeout below \(grace)s")
    }
    if self["usedns"] == "yes" {
      add(
        .warning, "UseDNS is on: requests are counted by host name, and whoever runs a DNS zone has any number of them",
        "set UseDNS no in a file of /etc/ssh/sshd_config.d that sorts first")
    }
    findings += methodFindings(withoutPhone: .problem)
    if findings.isEmpty { add(.ok, "UsePAM and KbdInteractiveAuthentication are on") }
    if let limit = StartupLimit(self["maxstartups"] ?? "") {
      findings.append(limit.finding(isPerSource: limitsEachSource, timeout: timeout))
    }
    if let penalties = penaltyFinding { findings.append(penalties) }
    return findings
  }

  /// Whether one address can use only some of the connections that have not signed in yet.
  private var limitsEachSource: Bool { self["persourcemaxstartups"].flatMap { Int($0) } != nil }

  /// PerSourcePenalties (OpenSSH 9.8): sshd blocks an address for a while if its sign-ins fail or outlast
  /// LoginGraceTime. Nil if sshd does not have the option, or it is off.
  private var penaltyFinding: Finding? {
    guard let penalties = self["persourcepenalties"], penalties != "no" else { return nil }
    return Finding(
      .ok, .sshd,
      "sshd: PerSourcePenalties drops everybody of an address after denied or unanswered sign-ins from there",
      hint: "PerSourcePenaltyExemptList names addresses that many people share")
  }

  private func methodFindings(withoutPhone: Finding.Level) -> [Finding] {
    let methods = self["authenticationmethods"] ?? "any"
    guard methods == "any" else { return SSHDMethods(methods).findings(self, withoutPhone: withoutPhone) }
    guard self["pubkeyauthentication"] == "yes" else { return [] }
    return [Finding(.ok, .sshd, "sshd: public keys go past PAM: who has one is not asked on the phone")]
  }
}

/// MaxStartups: how many connections of all users together may wait for their sign-in (sshd_config(5)).
struct StartupLimit: Equatable {
  /// sshd's default. Fewer places are soon taken by users who wait for their phones.
  private static let usualBegin = 10

  /// If this many connections wait, sshd drops some further ones.
  let begin: Int
  /// If this many wait, sshd drops all further ones.
  let full: Int

  /// - Parameter text: `begin:percentage:full`, or one number for both; nil for other texts.
  init?(_ text: String) {
    let numbers = text.split(separator: ":", omittingEmptySubsequences: false).map { Int($0) }
    guard numbers.count == 1 || numbers.count == 3, let begin = numbers[0], let full = numbers[numbers.count - 1] else {
      return nil
    }
    self.begin = begin
    self.full = full
  }

  /// - Parameter timeout: the module's longest wait, in seconds.
  func finding(isPerSource: Bool, timeout: Int64) -> Finding {
    let text =
      "sshd: MaxStartups drops connections while \(begin) others wait for their sign-in, and all while \(full) do; "
      + "a phone may take \(timeout) s"
    if begin < Self.usualBegin {
      return Finding(
        .warning, .sshd, text,
        hint: "set MaxStartups \(Self.usualBegin):30:100 or more in a file of /etc/ssh/sshd_config.d")
    }
    return Finding(
      .ok, .sshd, text,
      hint: isPerSource ? nil : "PerSourceMaxStartups 5 keeps one address from taking all of these places")
  }
}

/// The settings of login(1) in `/etc/login.defs`.
public enum LoginDefinitions {
  /// login's default if the file does not set it, in seconds.
  public static let usualTimeout: Int64 = 60

  /// LOGIN_TIMEOUT in seconds.
  public static func timeout(_ text: String) -> Int64 {
    for line in text.split(whereSeparator: \.isNewline) {
      let words = line.split(whereSeparator: { $0 == " " || $0 == "\t" })
      if words.count >= 2, words[0] == "LOGIN_TIMEOUT", let seconds = Int64(words[1]) { return seconds }
    }
    return usualTimeout
  }

  /// - Parameter timeout: the module's longest wait, in seconds.
  public static func finding(limit: Int64, timeout: Int64) -> Finding {
    if limit > 0, limit <= timeout {
      return Finding(
        .warning, .pam,
        "login: LOGIN_TIMEOUT of \(limit) s ends before the phone's time-out of \(timeout) s",
        hint: "set approval_timeout below \(limit)s")
    }
    return Finding(.ok, .pam, "login: LOGIN_TIMEOUT of \(limit) s leaves time for the phone (\(timeout) s)")
  }
}
