/// The helper's log: one line an event, never with a secret.
public protocol HelperLog: AnyObject {
  /// - Parameter priority: of syslog(3).
  func write(_ priority: Int32, _ text: String)
}
