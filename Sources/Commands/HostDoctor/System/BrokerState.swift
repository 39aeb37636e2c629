import IAMPASSProtocol

extension UnitState {
  /// Findings about the socket of iampass-broker(8).
  ///
  /// - Parameters:
  ///   - socket: the socket's state in systemd.
  ///   - services: the listed services of this computer that cannot ask the phone without the broker.
  public static func brokerFindings(socket: UnitState, for services: [String]) -> [Finding] {
    let name = "iampass-broker.socket"
    let all = services.joined(separator: ", ")
    if socket.isActive {
      let whom = services.isEmpty ? "no service that needs it is listed" : "\(all) ask the phone through it"
      return [Finding(.ok, .helper, "\(name) listens: \(whom)")]
    }
    guard !services.isEmpty else { return [] }
    guard socket["LoadState"] == "loaded" else {
      return [Finding(.warning, .helper, "\(name) is not installed: \(all) ask for the password only")]
    }
    return [
      Finding(
        .warning, .helper, "\(name) does not listen: \(all) ask for the password only",
        hint: "systemctl enable --now \(name); journalctl -u \(name)")
    ]
  }
}
