import FuzzKit
import IAMPASSProtocol

@testable import HostState
@testable import HostSystem
@testable import WorkerLink

/// An accepted configuration keeps its promises, and stays the same when it is written again. A refused one names the
/// line.
func fuzzConfiguration(_ text: [UInt8]) {
  let lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map(\.text)
  let configuration: Configuration
  do {
    configuration = try Configuration(parsing: text)
  } catch { return checkRefusal(error, lines) }
  checkBounds(configuration)
  let anew = try? Configuration(parsing: Array(written(configuration).utf8))
  var expected = configuration
  expected.unknownKeys = []
  must(anew == expected, "read otherwise than written")
  checkEditing(text, configuration)
}

private func checkRefusal(_ error: ConfigurationError, _ lines: [String]) {
  let said = error.explanation(path: "FILE")
  func stands(_ key: String, at number: Int) -> Bool {
    (1...lines.count).contains(number) && lines[number - 1].contains(key)
  }
  switch error {
  case .badValue(let key, let line, _):
    must(stands(key, at: line), "the bad value is not in line \(line)")
    must(said.hasPrefix("FILE:\(line): "), "the refusal does not name its line")
  case .keyValue(.keyTwice(let key, let line)):
    must(stands(key, at: line) && (1..<line).contains { stands(key, at: $0) }, "\(key) is not twice up to line \(line)")
    must(said.hasPrefix("FILE:\(line): "), "the refusal does not name its line")
  case .keyValue(.badLine(let line)):
    must((1...lines.count).contains(line), "there is no line \(line)")
    must(said.hasPrefix("FILE:\(line): "), "the refusal does not name its line")
  case .keyValue(.file), .services: must(false, "there is no file")
  }
}

/// What the rest of the product relies on, whatever stands in the file.
private func checkBounds(_ configuration: Configuration) {
  if let server = configuration.server {
    let loopback = ["http://127.", "http://[::1]"].contains { server.description.hasPrefix($0) }
    must(server.description.hasPrefix("https://") || loopback, "a service without TLS: \(server)")
    must(!server.origin.contains("@"), "a host behind a name: \(server)")
    must(!server.description.contains { "\\ \n?#".contains($0) }, "an address that readers see differently: \(server)")
  }
  let paths = [configuration.runFolder, configuration.stateFolder, configuration.worker]
  for path in paths + (configuration.caFile.map { [$0] } ?? []) {
    must(path.hasPrefix("/") && !path.contains("\0") && !path.contains("\n"), "a path that is not absolute")
  }
  must((5...90).contains(configuration.approvalTimeout), "an approval's time out of bounds")
  must((60...2_592_000).contains(configuration.sessionDuration), "a session's time out of bounds")
  must((0...86_400).contains(configuration.walkawayGrace), "a grace out of bounds")
  must((0...2_592_000).contains(configuration.unreachableGrace), "a grace out of bounds")
  must((5...120).contains(configuration.presenceInterval), "an interval out of bounds")
  must((0...3_600).contains(configuration.presenceGrace), "a grace out of bounds")
  must((10...86_400).contains(configuration.presenceUnknownGrace), "a grace out of bounds")
  must((60...2_592_000).contains(configuration.offlineSession), "an offline session's time out of bounds")
  must((3...90).contains(configuration.unlockTimeout), "a wait at a locker out of bounds")
  must((1...20).contains(configuration.maxRequests), "a limit out of bounds")
  must((60...86_400).contains(configuration.requestWindow), "a window out of bounds")
  must(!configuration.workerUser.contains { "/: \n".contains($0) }, "an invalid user name is accepted")
}

/// Every setting, as a file.
private func written(_ configuration: Configuration) -> String {
  func word(_ isOn: Bool, _ yes: String, _ no: String) -> String { isOn ? yes : no }
  var lines = [
    "signing = \(configuration.signing.rawValue)", "dialect = \(configuration.dialect.rawValue)",
    "services = \(configuration.services.joined(separator: " "))",
    "signed_replies = \(word(configuration.requiresSignedReplies, "required", "off"))",
    "signed_targets = \(word(configuration.requiresSignedTargets, "required", "off"))",
    "approvals = \(configuration.approvals.rawValue)",
    "methods_offline = \(configuration.offlineMethods.text)", "offline_session = \(configuration.offlineSession)s",
    "session_duration = \(configuration.sessionDuration)s", "approval_timeout = \(configuration.approvalTimeout)",
    "unlock_timeout = \(configuration.unlockTimeout)",
    "send_context = \(configuration.sendContext.rawValue)",
    "send_command = \(word(configuration.sendsCommand, "yes", "no"))",
    "shared_tokens = \(configuration.sharedTokens.rawValue)",
    "users = \(configuration.users.rawValue)",
    "users_from_service = \(configuration.userSelection.text)",
    "long_command = \(configuration.longCommand.rawValue)", "on_walkaway = \(configuration.onWalkaway.rawValue)",
    "walkaway_grace = \(configuration.walkawayGrace)s",
    "on_end = \(configuration.onEnd.rawValue)", "on_expiry = \(configuration.onExpiry.rawValue)",
    "unreachable_grace = \(configuration.unreachableGrace)",
    "on_lock_failure = \(configuration.onLockFailure.rawValue)",
    "on_linger = \(configuration.onLinger.rawValue)", "unlock = \(configuration.unlock.rawValue)",
    "keyring = \(configuration.keyring.rawValue)",
    "max_requests = \(configuration.maxRequests)",
    "request_window = \(configuration.requestWindow)", "run_dir = \(configuration.runFolder)",
    "worker = \(configuration.worker)", "worker_user = \(configuration.workerUser)",
    "state_dir = \(configuration.stateFolder)", "presence = \(configuration.presence.rawValue)",
    "presence_interval = \(configuration.presenceInterval)s", "presence_grace = \(configuration.presenceGrace)",
    "on_presence_left = \(configuration.onPresenceLeft.rawValue)",
    "presence_unknown_grace = \(configuration.presenceUnknownGrace)s",
    "on_presence_unknown = \(configuration.onPresenceUnknown.rawValue)",
    "presence_key = \(configuration.presenceKey.rawValue)",
  ]
  if let server = configuration.server { lines.append("server = \(server)") }
  if let file = configuration.caFile { lines.append("ca_file=\(file)") }
  if let proxy = configuration.proxy { lines.append("\tproxy = \(proxy) ") }
  if let action = configuration.onUnreachable { lines.append("on_unreachable = \(action.rawValue)") }
  return lines.joined(separator: "\n")
}

/// `iampassctl setup` changes one value and nothing else.
private func checkEditing(_ text: [UInt8], _ configuration: Configuration) {
  let edited = KeyValueEditor.setting([("approval_timeout", "17s"), ("server", "https://other.test")], in: text)
  var expected = configuration
  expected.approvalTimeout = 17
  expected.server = try? ServerURL("https://other.test")
  must((try? Configuration(parsing: edited)) == expected, "editing changed something else")
}
