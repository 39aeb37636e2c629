/// The helper's log: one line for each event, and no secrets.
public protocol HelperLog: AnyObject {
  /// - Parameter priority: a level of syslog(3).
  func write(_ priority: Int32, _ text: String)
}
