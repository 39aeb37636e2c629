import Glibc
import HostState
import HostSystem

/// Why the helper does not run.
public enum HelperError: Error, Sendable {
  case file(FileError)
  case alreadyRunning(folder: String)
  /// The system does not give signals or descriptors. Has errno.
  case system(Int32)

  public var explanation: String {
    switch self {
    case .file(let error): error.explanation
    case .alreadyRunning(let folder): "another helper looks after \(folder)"
    // SAFETY: strerror's text is copied before any other call.
    case .system(let code): String(cString: strerror(code))
    }
  }
}
