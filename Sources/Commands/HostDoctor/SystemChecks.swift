import CHost
import CommandSupport
import Glibc
import HostState
import HostSystem
import IAMPASSProtocol

/// Findings about the helper, waiting workers and logind, from systemd.
enum SystemChecks {
  private static let systemctl = "/usr/bin/systemctl"

  /// - Parameter services: the services that ask the phone here.
  static func findings(_ services: [String]) -> [Finding] {
    guard access("/run/systemd/system", F_OK) == 0 else {
      return [Finding(.warning, .helper, "systemd does not run here: no session can be watched")]
    }
    let worker = UnitState.workerFindings(
      socket: unit("iampass-worker.socket"), service: unit("iampass-worker.service"))
    let logind = unit("systemd-logind.service").logindFinding(for: services)
    return unit("iampass-helper.service").helperFindings() + worker + [logind]
  }

  static func isActive(_ name: String) -> Bool { unit(name).isActive }

  /// Findings about the broker's socket, which some of these services need.
  static func brokerFindings(_ services: [String]) -> [Finding] {
    guard access("/run/systemd/system", F_OK) == 0 else { return [] }
    let brokered = services.filter { DesktopServices.asksBroker($0) }
    return UnitState.brokerFindings(socket: unit("iampass-broker.socket"), for: brokered)
  }

  /// Findings about phones that are looked for by Bluetooth.
  static func presenceFindings(of place: SetupPlace, isOn: Bool) -> [Finding] {
    let path = place.presence
    let phones: [BoundPhone]
    do throws(BoundPhonesError) { phones = try BoundPhones(path: path).phones } catch {
      guard case .file(let file) = error else {
        return [Finding(.problem, .files, error.explanation(path: path), hint: "correct the line or delete it")]
      }
      // Errors of the folder are reported with the files.
      return file.path == path ? [Finding(.problem, .files, file.explanation, hint: file.hint)] : []
    }
    let listens = phones.isEmpty || unit("iampass-presence.socket").isActive
    return PresenceFindings(phones: phones, isOn: isOn, socketListens: listens) { (phone) throws(FileError) in
      try BondedDevice.read(adapter: phone.adapter, address: phone.phone)
    }.findings
  }

  private static func unit(_ name: String) -> UnitState {
    let words = [systemctl, "show", "--property=\(UnitState.properties)", name]
    return UnitState(Program.run(words, seconds: 5)?.output ?? "")
  }
}

/// Compares the users file with the system and the service.
struct UserChecks {
  /// The most names that are looked up in the system. Each may be a question to a directory server.
  private static let greatestLookedUp = 1_000
  private static let firstPersonsUID = 1_000
  /// `nobody` and users that systemd makes have higher uids.
  private static let lastPersonsUID = 60_000

  let usersPath: String
  let sharing: SharedTokens
  let service: ServiceChecks?
  let accounts: AccountFindings

  func findings() -> [Finding] {
    let tokens: UserTokens
    do { tokens = try UserTokens(path: usersPath) } catch {
      // Owner, mode and a missing file are reported with the files.
      if case .file = error { return [] }
      return [Finding(.problem, .users, error.explanation(path: usersPath), hint: "edit the line")]
    }
    let names = tokens.users()
    var findings = damagedLines(tokens) + badLines(names, tokens)
    findings +=
      SharedTokenFindings(
        groups: tokens.sharedTokens(), isAllowed: sharing == .allowed, greatest: SharedTokens.greatestCount,
        isRoot: { (name) throws(UserLookupError) in
          guard let name = UnixUsername(validating: name) else { return false }
          return try UnixUsername.isRoots(name)
        }
      ).findings
    var unknown: [String] = []
    do throws(UserLookupError) { unknown = try Self.unknown(among: names.prefix(Self.greatestLookedUp)) } catch {
      findings.append(Self.lookupFinding(error))
    }
    findings +=
      UserFindings(
        withToken: names, people: Self.people(), unknown: unknown,
        withoutPhone: service?.usersWithoutPhone(names.filter { !unknown.contains($0) }, tokens)
      ).findings
    return findings + passwords(of: names.prefix(Self.greatestLookedUp))
  }

  private func passwords(of names: some Sequence<String>) -> [Finding] {
    let ages = names.compactMap { name in
      UnixUsername(validating: name).flatMap { PasswordAge.of($0) }.map { (name: name, age: $0) }
    }
    return PasswordFindings(ages, today: PasswordAge.today, stacks: accounts).findings
  }

  private static func unknown(among names: some Sequence<String>) throws(UserLookupError) -> [String] {
    var unknown: [String] = []
    for text in names {
      guard let name = UnixUsername(validating: text), try SystemUser.find(named: name) != nil else {
        unknown.append(text)
        continue
      }
    }
    return unknown
  }

  /// The finding for a failed look-up. A sign-in ends with the same error.
  static func lookupFinding(_ error: UserLookupError) -> Finding {
    Finding(
      .problem, .users, "\(error.explanation): users who are not found so cannot sign in by phone",
      hint: "getent passwd USER, and the sources in /etc/nsswitch.conf")
  }

  private func damagedLines(_ tokens: UserTokens) -> [Finding] {
    tokens.damagedLines().prefix(UserFindings.greatestNamed).map { line in
      let text = UserTokensError.notText(line: line).explanation(path: usersPath)
      return Finding(.problem, .users, "\(text): its user cannot sign in by phone", hint: "write the line again")
    }
  }

  /// Findings about lines that keep users from signing in by phone. Their number is bounded.
  private func badLines(_ names: [String], _ tokens: UserTokens) -> [Finding] {
    var seen: Set<String> = []
    var suspects: [String] = []
    for name in names where !seen.insert(name).inserted { suspects.append(name) }
    // Each look-up reads the whole file, so in a large file only suspicious users are looked up.
    if names.count <= Self.greatestLookedUp { suspects = Array(Set(names)).sorted() }
    let findings = Set(suspects).sorted().lazy.compactMap { name -> Finding? in
      guard let user = UnixUsername(validating: name) else {
        return Finding(.warning, .users, "\(usersPath): \(name) is not a user name", hint: "remove its line")
      }
      do throws(UserTokensError) {
        _ = try tokens.token(of: user)
        return nil
      } catch {
        // This is reported with the line's number.
        if case .notText = error { return nil }
        let text = "\(error.explanation(path: usersPath)): \(user) cannot sign in by phone"
        return Finding(.problem, .users, text, hint: "edit the line")
      }
    }
    return Array(findings.prefix(UserFindings.greatestNamed))
  }

  /// The users in /etc/passwd with a shell and a person's uid.
  private static func people() -> [String] {
    let bytes = ProcessFile.read("/etc/passwd", limit: 4 * 1024 * 1024) ?? []
    // This splits bytes: users write parts of their lines, and a combining mark would hide a colon.
    return bytes.split(separator: UInt8(ascii: "\n")).compactMap { line in
      let fields = line.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false).map {
        String(decoding: $0, as: UTF8.self)
      }
      guard fields.count == 7, let uid = Int(fields[2]), (firstPersonsUID...lastPersonsUID).contains(uid),
        !fields[6].hasSuffix("/nologin"), !fields[6].hasSuffix("/false")
      else { return nil }
      return fields[0]
    }
  }
}

/// Findings about records whose session is over. A running helper would have removed them.
struct SessionChecks {
  let configuration: Configuration

  func findings() -> [Finding] {
    let folder = configuration.runFolder + "/sessions"
    guard let names = Self.names(in: folder) else { return [] }
    let run = RunFolder(path: configuration.runFolder)
    let ledger = SessionLedger(run: run)
    var damaged: [String] = []
    var leftOver = 0
    for name in names where !name.hasSuffix(".new") {
      guard let record = try? ledger.read(name) else {
        damaged.append(name)
        continue
      }
      guard record.isReleased || Self.isGone(record) else { continue }
      let note = try? WatchNotes(run: run).read(name)
      // The helper still watches some of them, because processes run on.
      if note?.isRunningOn != true { leftOver += 1 }
    }
    var findings: [Finding] = []
    if let first = damaged.min() {
      // The hint does not remove the folder, because its other files keep sessions watched.
      findings.append(
        Finding(
          .warning, .sessions, "\(Words.counted(damaged.count, "damaged session record")) in \(folder)",
          hint: MendingCommand.text("rm", "\(folder)/\(first)") ?? "remove \(first) there"))
    }
    if leftOver > 0 {
      findings.append(
        Finding(
          .warning, .sessions, "\(Words.counted(leftOver, "session record")) left by sessions that are over",
          hint: "systemctl restart iampass-helper, which ends them at the service"))
    }
    if findings.isEmpty {
      findings.append(Finding(.ok, .sessions, "no session is left over (\(names.count) recorded)"))
    }
    return findings
  }

  /// Whether no process of the record runs. A process that cannot be read counts as running, as in the helper.
  private static func isGone(_ record: SessionRecord) -> Bool {
    (record.binding.map { [$0.leader] } ?? [record.process, record.parent]).allSatisfy { $0.presence == .gone }
  }

  private static func names(in folder: String) -> [String]? {
    (try? FolderListing.names(in: folder))?.filter { !$0.hasPrefix(".") }
  }
}
