import IAMPASSProtocol

extension UnitState {
  /// Findings about waiting workers. Without them sign-ins work, but take longer.
  public static func workerFindings(socket: UnitState, service: UnitState) -> [Finding] {
    let name = "iampass-worker"
    guard socket["LoadState"] == "loaded" else { return [] }
    if service["ActiveState"] == "failed", let failure = service.namespaceFailure {
      return [
        Finding(
          .warning, .helper,
          "\(name).service has failed, and each sign-in starts a worker of its own; \(failure.explanation(of: name))",
          hint: failure.hint(for: name, manual: "iampass-helper(8)"))
      ]
    }
    if socket.isActive, service["ActiveState"] == "failed" {
      return [
        Finding(
          .warning, .helper, "\(name).service has failed; the next sign-in starts it again",
          hint: "journalctl -u \(name)")
      ]
    }
    if socket.isActive { return [Finding(.ok, .helper, "\(name).socket has workers wait for sign-ins")] }
    if socket["ActiveState"] == "inactive", socket["UnitFileState"] != "enabled" {
      return [Finding(.ok, .helper, "\(name).socket is off: each sign-in starts a worker of its own")]
    }
    return [
      Finding(
        .warning, .helper, "\(name).socket does not listen: each sign-in starts a worker of its own",
        hint:
          "journalctl -u \(name); systemctl reset-failed \(name).service \(name).socket; systemctl start \(name).socket"
      )
    ]
  }
}
