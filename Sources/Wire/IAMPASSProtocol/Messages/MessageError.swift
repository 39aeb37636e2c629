/// Why a message was not understood. Such a reply never counts as an answer.
public enum MessageError: Error, Equatable, Sendable {
  case json(JSONError)
  /// A member is missing or has another type.
  case member(String)
  /// The flat and the nested form of one reply disagree.
  case contradiction(String)
  /// The service refused, perhaps with a reason.
  case refused(reason: String?)
}

extension JSON {
  /// Reads a body as JSON.
  package static func reading(_ body: [UInt8]) throws(MessageError) -> JSON {
    do { return try JSON(parsing: body) } catch { throw .json(error) }
  }

  /// Reads a reply and requires that its `status` is true.
  static func acknowledged(_ body: [UInt8]) throws(MessageError) -> JSON {
    let json = try reading(body)
    guard let status = json["status"]?.bool else { throw .member("status") }
    guard status else { throw .refused(reason: json["reason"]?.string) }
    return json
  }
}
