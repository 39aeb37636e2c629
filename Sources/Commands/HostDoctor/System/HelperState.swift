import CommandSupport
import HostState
import IAMPASSProtocol

/// What `systemctl show` says of a unit.
public struct UnitState: Sendable, Equatable {
  private let values: [String: String]

  public init(_ output: String) {
    var values: [String: String] = [:]
    for line in output.split(separator: "\n") {
      let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      if parts.count == 2 { values[String(parts[0])] = String(parts[1]) }
    }
    self.values = values
  }

  /// The properties that the findings need.
  public static let properties =
    "LoadState,ActiveState,SubState,UnitFileState,WatchdogUSec,NRestarts,StatusText,ExecMainStatus"

  public subscript(name: String) -> String { values[name] ?? "" }

  public var isActive: Bool { self["ActiveState"] == "active" }

  /// A finding about logind. It must run if one of the services opens a watched session.
  ///
  /// - Parameter services: the services that ask the phone. If there are none, any may be listed later.
  func logindFinding(for services: [String]) -> Finding {
    if isActive { return Finding(.ok, .helper, "systemd-logind is running") }
    let opening = services.filter(ServiceTable.opensSession)
    let hint = "systemctl start systemd-logind"
    guard opening.isEmpty, !services.isEmpty else {
      let of = opening.isEmpty ? "" : ": a sign-in by phone to \(opening.joined(separator: ", ")) is refused"
      return Finding(
        .problem, .helper, "systemd-logind is not running, so that no session can be watched\(of)", hint: hint)
    }
    return Finding(
      .warning, .helper, "systemd-logind is not running; \(services.joined(separator: ", ")) can do without", hint: hint
    )
  }

  /// Nil unless the unit's process has ended because systemd could not set up its restrictions.
  public var namespaceFailure: NamespaceFailure? { NamespaceFailure(mainStatus: self["ExecMainStatus"]) }

  public func helperFindings() -> [Finding] {
    let name = "iampass-helper"
    guard self["LoadState"] == "loaded" else {
      return [Finding(.warning, .helper, "\(name) is not installed: nobody is logged out when the phone leaves")]
    }
    guard isActive else {
      let state = [self["ActiveState"], self["SubState"]].filter { !$0.isEmpty }.joined(separator: ", ")
      let text = "\(name) is not running (\(state)): nobody is logged out when the phone leaves"
      if let failure = namespaceFailure {
        return [
          Finding(
            .problem, .helper, "\(text); \(failure.explanation(of: name))",
            hint: failure.hint(for: name, manual: "iampass-helper(8)"))
        ]
      }
      return [
        Finding(.problem, .helper, text, hint: "systemctl enable --now \(name); journalctl -u \(name)")
      ]
    }
    var findings: [Finding] = []
    let said = DisplayText.sanitized(self["StatusText"], limit: 1_000)
    findings.append(
      HelperStatus.isWell(said)
        ? Finding(.ok, .helper, "\(name) is running" + (said.isEmpty ? "" : ": \(said)"))
        : Finding(
          .warning, .helper,
          "\(name) is running" + (HelperStatus.isWatching(said) ? ": " : " and watches nobody: ") + said,
          hint: "mend it, then systemctl reload \(name); its unit hides /home, /root and /tmp from it"))
    if ["", "0", "infinity"].contains(self["WatchdogUSec"]) {
      findings.append(
        Finding(
          .warning, .helper, "\(name) has no watchdog: nobody notices when it hangs",
          hint: "set WatchdogSec=30 in its unit"))
    }
    if let restarts = Int(self["NRestarts"]), restarts > 0 {
      findings.append(
        Finding(
          .warning, .helper, "\(name) was restarted \(Words.counted(restarts, "time"))", hint: "journalctl -u \(name)"))
    }
    if self["UnitFileState"] == "disabled" {
      findings.append(
        Finding(
          .warning, .helper, "\(name) does not start at boot", hint: "systemctl enable \(name)"))
    }
    return findings
  }
}
