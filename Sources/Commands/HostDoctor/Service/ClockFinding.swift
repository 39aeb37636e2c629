import IAMPASSProtocol

/// Compares this computer's clock with the service's.
public enum ClockFinding {
  /// The service refuses requests if the clocks differ by more than this, in seconds.
  public static let window = RequestSigner.clockWindow
  /// The difference, in seconds, from which there is a warning. Synchronised clocks differ by less than one second.
  static let notable: Int64 = 30

  /// - Parameter difference: the service's clock minus ours, in seconds; nil if it did not send its time.
  public static func finding(difference: Int64?) -> Finding {
    guard let difference else { return Finding(.ok, .network, "the service does not tell its time") }
    let text = "this computer's clock is \(describe(difference)) the service's"
    let hint = "timedatectl set-ntp true"
    if difference.magnitude > window { return Finding(.problem, .network, text, hint: hint) }
    if difference.magnitude > notable { return Finding(.warning, .network, text, hint: hint) }
    return Finding(.ok, .network, "this computer's clock agrees with the service's (\(difference.magnitude) s)")
  }

  private static func describe(_ difference: Int64) -> String {
    let size = difference.magnitude
    let amount = size < 120 ? "\(size) s" : "\(size / 60) min"
    return difference > 0 ? "\(amount) behind" : "\(amount) ahead of"
  }
}
