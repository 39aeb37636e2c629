import CommandSupport
import Glibc
import HostState
import HostSystem
import IAMPASSProtocol
import PAMStacks

/// Findings about stacks that ask for a security key (pam_u2f) besides the phone.
extension StackJudgement {
  static let keyModule = PAMLine.keyModule

  var keyLines: [PAMLine] { auth.flatMap(\.lines).filter { $0.moduleName == Self.keyModule } }

  private static let keyFailures: [(PAMResult, String)] = [
    (.authErr, "a missing or wrong key"), (.userUnknown, "a user without a key"),
    (.authinfoUnavail, "keys that cannot be read"), (.moduleUnknown, "a missing pam_u2f.so"),
    (.ignore, "an error that pam_u2f ignores"), (.serviceErr, "another error of pam_u2f"),
  ]

  /// - Parameter answer: the answer of other lines; nil: the presumed answer.
  private func opens(
    phone: PAMResult, passwordRight: Bool, key: PAMResult, _ answer: @escaping (PAMLine) -> PAMResult? = { _ in nil }
  ) -> Bool {
    var dispatch = PAMDispatch { line in
      if line.servesKeyring { return .ignore }
      if let answer = answer(line) { return answer }
      switch line.moduleName {
      case Self.module: return phone
      case Self.keyModule: return key
      default: return line.presumedResult(passwordRight: passwordRight)
      }
    }
    return dispatch.run(auth)
  }

  /// Whether a key alone opens the stack.
  var takesKeyAlone: Bool { opens(phone: .authinfoUnavail, passwordRight: false, key: .success) }
  /// Whether phone and password do not open the stack without a key.
  private var needsKey: Bool {
    !opens(phone: .success, passwordRight: true, key: .authErr)
      && opens(phone: .success, passwordRight: true, key: .success)
  }

  func keyFindings() -> [Finding] {
    guard let line = keyLines.first else { return [] }
    let dangers = keyDoors() + (needsKey ? keySkips(line) : keyOrder(line) + keyLockOuts(line)) + keyWords(line)
    let what = needsKey ? "asks for a security key besides, from users who have one" : "takes a security key, too"
    guard needsKey || takesKeyAlone else {
      let text = "asks for a security key, which changes nothing (\(line.place))"
      return dangers + [keyFinding(.warning, text, "iampassctl enable --security-key")]
    }
    return dangers.isEmpty ? [keyFinding(.ok, "\(what) (\(line.place))", nil)] : dangers
  }

  private func keyDoors() -> [Finding] {
    let open = Self.keyFailures.filter { opens(phone: .authErr, passwordRight: false, key: $0.0) }.map(\.1)
    guard !open.isEmpty else { return [] }
    return [
      keyFinding(
        .problem, "lets anybody in after \(Words.either(open))", "end the auth stack with: auth requisite pam_deny.so")
    ]
  }

  /// If the key is the second factor, an error or another spelling of a name must not skip it.
  private func keySkips(_ line: PAMLine) -> [Finding] {
    var findings: [Finding] = []
    let skips = Self.keyFailures.filter { opens(phone: .success, passwordRight: true, key: $0.0) }.map(\.1)
    if !skips.isEmpty {
      findings.append(
        keyFinding(
          .problem, "\(Words.either(skips)) skips the key, which is the second factor",
          "use [success=ok default=die] in the line of pam_u2f.so at \(line.place)"))
    }
    for condition in auth.flatMap(\.lines).prefix(while: { $0 != line }) where condition.isCondition {
      if Self.conditionErrors.contains(where: { error in
        opens(phone: .success, passwordRight: true, key: .authErr) { $0 == condition ? error : nil }
      }) {
        findings.append(
          keyFinding(
            .problem, "an error of \(condition.moduleName) skips the key, which is the second factor",
            "iampassctl enable --security-key-second, or auth_err in place of default at \(condition.place)"))
      }
      if condition.comparesNames {
        findings.append(
          keyFinding(
            .warning, "another spelling of a user's name can skip the key (\(condition.place))",
            "iampassctl enable --security-key-second, which compares user ids"))
      }
    }
    return findings
  }

  private static let conditionErrors: [PAMResult] = [.serviceErr, .userUnknown, .moduleUnknown, .abort]

  /// The user ids on these lines' lists, in the form that the profile writes. Other users are exempt from the key.
  public static func uidsOnLists(_ lines: [PAMLine]) -> Set<UInt32> {
    Set(
      lines.filter { $0.moduleName == "pam_succeed_if" }.flatMap { line -> [UInt32] in
        let words = line.arguments
        guard let place = words.firstIndex(of: "notin"), place > 0, words[place - 1] == "uid", place + 1 < words.count
        else { return [] }
        return words[place + 1].split(separator: ":").compactMap { UInt32($0) }
      })
  }

  /// The users whom the stack also asks for a key; nil if it does not go by lists of user ids.
  var keyHolders: Set<UInt32>? {
    guard needsKey, let key = keyLines.first else { return nil }
    let before = Array(auth.flatMap(\.lines).prefix { $0 != key })
    return before.contains { $0.moduleName == "pam_succeed_if" && $0.arguments.contains("notin") }
      ? Self.uidsOnLists(before) : nil
  }

  private func keyOrder(_ line: PAMLine) -> [Finding] {
    let lines = auth.flatMap(\.lines)
    guard let key = lines.firstIndex(of: line), let phone = lines.firstIndex(where: { ownLines.contains($0) }),
      key > phone
    else { return [] }
    return [
      keyFinding(
        .warning, "asks for the key only after the phone has refused (\(line.place))",
        "move the line of pam_u2f.so above the line of pam_iampass.so")
    ]
  }

  /// Without the key, the password must work as before.
  private func keyLockOuts(_ line: PAMLine) -> [Finding] {
    let closed = Self.keyFailures.filter { !opens(phone: .authinfoUnavail, passwordRight: true, key: $0.0) }.map(\.1)
    guard !closed.isEmpty, opens(phone: .authinfoUnavail, passwordRight: true, key: .success) else { return [] }
    return [
      keyFinding(
        .warning, "no way in is left after \(Words.either(closed))",
        "use [success=N default=ignore] in the line of pam_u2f.so at \(line.place)")
    ]
  }

  private func keyWords(_ line: PAMLine) -> [Finding] {
    var findings: [Finding] = []
    let words = line.arguments
    if words.contains("nouserok") {
      findings.append(
        keyFinding(
          needsKey ? .warning : .problem, "nouserok lets users without a key pass pam_u2f.so (\(line.place))",
          "take the word out"))
    }
    if !words.contains(where: { $0.hasPrefix("authfile=/") }) {
      findings.append(
        keyFinding(
          .warning, "without authfile= the keys are those that each user names in the own home folder (\(line.place))",
          "iampassctl enable --security-key, or add authfile=/etc/iampass/security-keys"))
    }
    for name in ["origin", "appid"] where !words.contains(where: { $0.hasPrefix(name + "=") }) {
      findings.append(
        keyFinding(
          .warning, "without \(name)= the keys stop working if this computer gets another name (\(line.place))",
          "add \(name)=\(SecurityKeyFiles.origin)"))
    }
    return findings
  }

  private func keyFinding(_ level: Finding.Level, _ text: String, _ hint: String?) -> Finding {
    Finding(level, .pam, "\(service): \(text)", hint: hint)
  }
}

/// Checks the files that the lines of pam_u2f name, each once.
struct KeyChecks {
  /// All lines of pam_u2f in listed services.
  let lines: [PAMLine]
  let files: SecurityKeyFiles
  /// Services that also ask the users with these ids for a key.
  var asking: [(service: String, uids: Set<UInt32>)] = []

  func findings() -> [Finding] {
    guard !lines.isEmpty else { return [] }
    let mappings = Set(lines.flatMap(\.arguments).filter { $0.hasPrefix("authfile=/") }.map { String($0.dropFirst(9)) })
    return modules() + mappings.sorted().flatMap(mapping) + unlisted() + keyless()
  }

  /// Findings about ids on the lines whose users have no key: these users cannot sign in.
  private func keyless() -> [Finding] {
    guard let holders = try? files.holders() else { return [] }
    return asking.compactMap { service, uids in
      let keyless = uids.subtracting(holders.uids).sorted().map(String.init)
      guard !keyless.isEmpty else { return nil }
      return Finding(
        .problem, .pam,
        "\(service): asks users with these ids for a key, who have none: \(keyless.joined(separator: ", "))",
        hint: "iampassctl enable --security-key-second, or lost-device --security-key USER of a user who is gone")
    }
  }

  /// Findings about users who have a key but whose ids are not on the lines. They got another id, or the lines were
  /// copied by hand.
  private func unlisted() -> [Finding] {
    guard let holders = try? files.holders() else { return [] }
    return asking.compactMap { service, uids in
      let missing = holders.uids.filter { !uids.contains($0) }.map(String.init)
      guard !missing.isEmpty || !holders.unknown.isEmpty else { return nil }
      let who = missing.isEmpty ? holders.unknown.map { DisplayText.sanitized($0, limit: 64) } : missing
      let what = missing.isEmpty ? "users whom the system does not know" : "users with a key and these ids"
      return Finding(
        .problem, .pam, "\(service): does not ask \(what) for it: \(who.joined(separator: ", "))",
        hint: missing.isEmpty
          ? "iampassctl lost-device --security-key \(who[0])" : "iampassctl enable --security-key-second")
    }
  }

  private func modules() -> [Finding] {
    Set(lines.map(\.module)).sorted().filter { ModuleFile.find($0) == nil }.map {
      Finding(
        .problem, .pam, "\($0) is not in the folder of PAM modules: no security key signs anybody in",
        hint: "apt install libpam-u2f")
    }
  }

  /// Checks the mapping's owner and mode: pam_u2f itself accepts a mapping that others can write.
  private func mapping(_ path: String) -> [Finding] {
    do throws(FileError) {
      _ = try SecureFile.read(path, privacy: .readableByAll, limit: 4 * 1024 * 1024)
      guard path == files.mapping else { return [Finding(.ok, .files, "\(path): owner and mode are right")] }
      let counts = try files.counts()
      let users = counts.map { "\(DisplayText.sanitized($0.user, limit: 64)) (\($0.keys))" }.joined(separator: ", ")
      return [
        Finding(
          counts.isEmpty ? .warning : .ok, .users,
          counts.isEmpty ? "nobody has a security key" : "security keys, also without the service: \(users)",
          hint: counts.isEmpty ? "iampassctl enroll --security-key USER" : nil)
      ]
    } catch {
      return [
        Finding(
          error.code == .missing ? .warning : .problem, .files, error.explanation,
          hint: error.hint ?? "iampassctl enroll --security-key USER")
      ]
    }
  }
}
