import DeviceProtocol
import IAMPASSProtocol
import WorkerLink

/// Why the service did not do what the phone asked for. After ``transport(_:)``, ``unavailable(status:)`` and
/// ``badReply(_:)`` the service may have done it.
public enum PhoneError: Error, Sendable, Equatable {
  /// No complete reply.
  case transport(TransportError)
  /// The service understood the request and refused it, with a reason such as `LINK_USED`. <doc:Wire> lists them.
  case refused(status: Int, reason: String)
  /// 429, 5xx, or a reply that is not from this service.
  case unavailable(status: Int)
  /// A reply of the service lacks a member, or a member is invalid.
  case badReply(MessageError)
  /// The phone's key could not be made, or did not sign.
  case key(DeviceKeyError)
  /// The system gave no random bytes.
  case noRandomness
  /// The method is not one of those that this phone can prove.
  case methodNotSupported
  /// The request is for a document, and no ``ReviewedDocument`` of it came with the approval.
  case documentNotShown

  /// Whether the same request may succeed later: after a failure of the network, an overload or a restart.
  public var isPassing: Bool {
    switch self {
    // Without its worker a program never connects. An interruption was requested.
    case .transport(let error): error.code != .workerFailed && error.code != .interrupted
    case .unavailable: true
    case .refused, .badReply, .key, .noRandomness, .methodNotSupported, .documentNotShown: false
    }
  }
}

/// Turns an error of a message's reader into a ``PhoneError``.
func understood<Message>(_ read: () throws(MessageError) -> Message) throws(PhoneError) -> Message {
  do { return try read() } catch { throw .badReply(error) }
}

/// Turns a key's error into a ``PhoneError``.
func keyed<Value>(_ work: () throws(DeviceKeyError) -> Value) throws(PhoneError) -> Value {
  do { return try work() } catch { throw .key(error) }
}
