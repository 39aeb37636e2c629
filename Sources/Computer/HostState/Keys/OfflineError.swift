import Glibc
import HostSystem
import IAMPASSProtocol

/// Why a phone cannot approve without the service.
public enum OfflineError: Error, Sendable, Equatable {
  case file(FileError)
  /// The file is incomplete or of another version.
  case damaged(path: String)
  /// The key was made on another computer.
  case notThisComputers(path: String)
  /// This computer's identity is not known.
  case unknownComputer
  case pins(PinnedPhonesError, path: String)
  /// The phone has not approved with the service for too long.
  case notSeenLately
  /// The wall clock is before the phone's last approval, so the approval's age is not known.
  case clockBehind
  /// libcrypto failed, or the kernel gave no random numbers.
  case cannotCompute(String)

  /// What is wrong, and where.
  public var explanation: String {
    switch self {
    case .file(let error): error.explanation
    case .damaged(let path): "\(path) is damaged"
    case .notThisComputers(let path): "\(path) was made for another computer"
    case .unknownComputer: "/etc/machine-id does not tell which computer this is"
    case .pins(let error, let path): error.explanation(path: path)
    case .notSeenLately: "the phone has not approved with the service for 30 days"
    case .clockBehind: "this computer's clock is behind the phone's last approval"
    case .cannotCompute(let why): "digits of phones cannot be checked: \(why)"
    }
  }

  /// The reason for the user, after "your phone cannot approve without the network".
  public var words: String {
    switch self {
    case .file(let error): error.words
    case .damaged: "this computer's key is damaged"
    case .notThisComputers: "this computer's key was made for another computer"
    case .pins(.lookup, _): "this computer cannot look up its users now"
    case .pins: "the list of trusted phones has a fault"
    case .notSeenLately: "it has not signed in here with it for 30 days"
    case .clockBehind: "this computer's clock was set back"
    case .unknownComputer, .cannotCompute: "this computer cannot check the digits"
    }
  }
}

extension FileError {
  /// The reason for the user: a few words without a path.
  var words: String {
    switch code {
    case .system(ENOSPC), .system(EDQUOT): "the disk is full"
    case .system(EROFS): "the disk cannot be written"
    default: "a file has a fault"
    }
  }
}
