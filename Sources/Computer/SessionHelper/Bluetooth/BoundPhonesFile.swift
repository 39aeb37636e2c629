import Glibc
import HostState

/// The file of bound phones. It is read again if it has changed. If the new contents are not valid, the former stay in
/// force.
struct BoundPhonesFile {
  private let path: String
  private var phones: [BoundPhone]?
  /// The stamp of the file that was read last; nil before the first time.
  private var seen: FileStamp??
  private var complaint = ""

  init(path: String) { self.path = path }

  /// Nil if it is not known which phones are bound, because the file was not valid since the helper began.
  mutating func current(_ log: any HelperLog) -> [BoundPhone]? {
    let now = FileStamp(path: path)
    guard seen != .some(now) else { return phones }
    do throws(BoundPhonesError) {
      phones = try BoundPhones(path: path).phones
      seen = .some(now)
      complaint = ""
    } catch {
      let explanation = error.explanation(path: path)
      if explanation != complaint { log.write(LOG_ERR, "bound phones stay as they were: \(explanation)") }
      complaint = explanation
    }
    return phones
  }
}
