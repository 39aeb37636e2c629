// How messages read and write their members.

extension JSON {
  package func text(_ name: String) throws(MessageError) -> String {
    guard let value = self[name]?.string, !value.isEmpty else { throw .member(name) }
    return value
  }

  package func number(_ name: String) throws(MessageError) -> Int64 {
    guard let value = self[name]?.integer else { throw .member(name) }
    return value
  }

  /// The bytes of a base64url member.
  package func bytes(_ name: String) throws(MessageError) -> [UInt8] {
    guard let value = Base64URL.decode(try text(name)) else { throw .member(name) }
    return value
  }

  /// Nil if the member is missing or null. Refuses a malformed one.
  package func optional<Value>(_ name: String, _ read: (JSON) throws(MessageError) -> Value) throws(MessageError)
    -> Value?
  {
    guard let value = self[name], value != .null else { return nil }
    return try read(value)
  }

  /// The member `pin_mac`; nil if it is missing or null. Throws if it is empty or too long.
  package var pinMAC: String? {
    get throws(MessageError) {
      try optional("pin_mac") { (value) throws(MessageError) in
        guard let text = value.string, (1...PhoneKeys.greatestPinMACLength).contains(text.utf8.count) else {
          throw .member("pin_mac")
        }
        return text
      }
    }
  }

  /// `acceptance` if it is missing, as in versions without methods.
  package func method(_ name: String) throws(MessageError) -> AuthenticationMethod {
    guard let value = self[name] else { return .acceptance }
    guard let method = value.string.flatMap(AuthenticationMethod.init(rawValue:)) else { throw .member(name) }
    return method
  }

  /// The member `methods`. Methods that this version does not know are left out.
  package var methods: [AuthenticationMethod] {
    guard let words = self["methods"]?.array else { return [.acceptance] }
    return words.compactMap { $0.string.flatMap(AuthenticationMethod.init(rawValue:)) }
  }

  package static func methods(_ methods: [AuthenticationMethod]) -> JSON {
    .array(methods.map { .string($0.rawValue) })
  }
}
