import CommandSupport
import Glibc
import HostSystem
import IAMPASSProtocol
import IAMPASSServer

/// By which key a database is sealed, and which servers run on it.
///
/// A command asks before it makes or changes a file of keys, and before it restarts a service. The only copy of a key may
/// be that of a service that runs: systemd takes it away when the service ends.
struct SealState: Equatable {
  /// Nil: nothing is sealed.
  let keyID: String?
  /// Whether a server that runs has that key.
  let isHeld: Bool
  let hasServers: Bool

  init(of storage: any OperatorStore) async throws {
    let servers = try await storage.runningServers()
    let id = try await storage.sealingKeyID()
    keyID = id
    isHeld = id.map { id in servers.contains { $0.has(key: id) } } ?? false
    hasServers = !servers.isEmpty
  }

  /// - Parameter text: see ``text``.
  /// - Returns: nil for any other text.
  init?(_ text: String) {
    let words = text.split(whereSeparator: \.isWhitespace)
    guard words.count == 3, let isHeld = Self.answers[words[1]], let hasServers = Self.answers[words[2]] else {
      return nil
    }
    keyID = words[0] == Self.clear ? nil : String(words[0])
    self.isHeld = isHeld
    self.hasServers = hasServers
  }

  /// For the process that has started this one.
  var text: String { "\(keyID ?? Self.clear) \(isHeld ? "yes" : "no") \(hasServers ? "yes" : "no")" }

  private static let clear = "clear"
  private static let answers: [Substring: Bool] = ["yes": true, "no": false]

  /// Refuses to go on by a file that does not have the database's key.
  func check(_ file: SealKeyFile) throws(CommandProblem) {
    let keys = try file.known()
    guard let keyID, keys?.has(keyID) != true else { return }
    let lack = keys == nil ? "and \(file.shownPath) is missing" : "which \(file.shownPath) does not have"
    let help =
      isHeld || isOfRunningService
      ? help(for: file, keys) + "; then run this again"
      : """
      put a copy of the file that has this key in its place; if there is none left: iampass-server database seal \
      --give-up-lost-key
      """
    throw CommandProblem(
      message: "nothing was changed: the database is sealed by the key \(keyID), \(lack)", hint: help,
      exitCode: EX_CONFIG)
  }

  /// Refuses to give up a key that a server has, or while a server runs. If the file has the key, an earlier run may have
  /// given up another one: this run completes it.
  func checkLoss(by file: SealKeyFile) throws(CommandProblem) {
    let keys = try file.known()
    guard let keyID else { throw .nothingLost }
    guard keys?.has(keyID) != true else { return }
    guard !isHeld && !isOfRunningService else {
      throw CommandProblem(
        message: "nothing was given up: a server that runs has the key \(keyID)", hint: help(for: file, keys),
        exitCode: EX_CONFIG)
    }
    guard !hasServers else { throw .serversRun }
  }

  /// Whether the packaged service has the database's key in its credential.
  private var isOfRunningService: Bool {
    guard let keyID, let keys = try? SealKeyFile.ofRunningService.read() else { return false }
    return keys.has(keyID)
  }

  /// How to get the key of a server that runs.
  private func help(for file: SealKeyFile, _ keys: SealKeys?) -> String {
    guard !file.isCredential, isOfRunningService else {
      return "copy the file of keys from that server before it ends, or give that file with --seal-key-file"
    }
    let copy = SealKeyFile.ofRunningService.path
    let backup = keys == nil ? "" : " --backup=numbered"
    let command = MendingCommand.text("install -m 600\(backup) \(copy)", file.path)
    return """
      neither stop nor restart the service before its copy of the key is saved: \
      \(command ?? "copy \(copy) to \(file.shownPath), for its owner alone")
      """
  }
}

extension SealKeyFile {
  fileprivate var shownPath: String { DisplayText.sanitized(path) }
}

extension CommandProblem {
  static let serversRun = CommandProblem(
    message: "nothing was given up: a server runs on this database",
    hint: "stop each server, as by systemctl stop iampass-server, and run this again", exitCode: EX_TEMPFAIL)

  static let nothingLost = CommandProblem(
    message: "nothing was given up: nothing in this database is sealed", hint: "iampass-server database check",
    exitCode: EX_DATAERR)
}
