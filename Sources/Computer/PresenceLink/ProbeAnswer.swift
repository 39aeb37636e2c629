import Glibc

/// The result of one look for a phone.
public enum ProbeAnswer: Sendable, Equatable, CustomStringConvertible {
  /// The phone answered, and the link is encrypted with the key of the pairing.
  case near
  /// No device with that address answered the page.
  case silent
  /// A device with that address answered, but does not have the key.
  case impostor
  /// The phone's presence is not known. Has the error's name, or another word for it: letters, digits, `_` and `-`.
  case unknown(String)

  /// The result of a connection attempt that ended with this error (connect(2), and the table of HCI errors in the
  /// kernel's net/bluetooth/lib.c). An error that the table does not list is ``unknown(_:)``.
  public init(error: Int32) {
    switch error {
    // HCI 0x04, Page Timeout.
    case EHOSTDOWN: self = .silent
    // HCI 0x05, Authentication Failure, and 0x06, PIN or Key Missing; the security level was not reached.
    case EACCES, EBADE: self = .impostor
    default: self = .unknown(Self.name(of: error))
    }
  }

  /// The answer if nothing could be sent to the phone, because of this error: its presence is not known.
  public static func notAsked(_ error: Int32) -> ProbeAnswer { .unknown(name(of: error)) }

  private static func name(of error: Int32) -> String {
    switch error {
    case EACCES: "EACCES"
    case EADDRNOTAVAIL: "EADDRNOTAVAIL"
    case EAFNOSUPPORT: "EAFNOSUPPORT"
    case EBUSY: "EBUSY"
    case ECONNABORTED: "ECONNABORTED"
    case ECONNREFUSED: "ECONNREFUSED"
    case ECONNRESET: "ECONNRESET"
    case EHOSTUNREACH: "EHOSTUNREACH"
    case EINVAL: "EINVAL"
    case EIO: "EIO"
    case EMLINK: "EMLINK"
    case ENETDOWN: "ENETDOWN"
    case ENETUNREACH: "ENETUNREACH"
    case ENODEV: "ENODEV"
    case EPERM: "EPERM"
    case ETIMEDOUT: "ETIMEDOUT"
    default: "error-\(error)"
    }
  }

  /// The answer for people: the word, and why the presence is not known.
  public var description: String {
    if case .unknown(let reason) = self { return "unknown (\(reason))" }
    return word
  }

  /// The word in a ``ProbeReply``.
  var word: String {
    switch self {
    case .near: "near"
    case .silent: "silent"
    case .impostor: "impostor"
    case .unknown(let reason): "unknown-\(reason)"
    }
  }

  init?(word: String) {
    switch word {
    case "near": self = .near
    case "silent": self = .silent
    case "impostor": self = .impostor
    default:
      let begin = "unknown-"
      let reason = String(word.dropFirst(begin.count))
      guard word.hasPrefix(begin), (1...40).contains(reason.utf8.count), reason.utf8.allSatisfy(Self.isPlain) else {
        return nil
      }
      self = .unknown(reason)
    }
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"),
      UInt8(ascii: "_"), UInt8(ascii: "-"):
      true
    default: false
    }
  }
}
