/// The reply for a client that asks for a sealed link (an extension that services may ignore).
public enum SealedLinkReply: Sendable, Equatable {
  /// The query item that asks for a sealed link. The signature covers it, so that an intermediary cannot remove it.
  public static let query = (name: "sealed", value: "1")

  /// In ``LinkSeal``'s form.
  case sealed(String)
  /// From a service that does not seal links.
  case plain(String)

  /// - Throws: ``MessageError/contradiction(_:)`` if the reply has both forms.
  public init(parsing body: [UInt8]) throws(MessageError) {
    let json = try JSON.acknowledged(body)
    switch (json["sealed_register_url"], json["register_url"]) {
    case (.string(let text)?, nil): self = .sealed(text)
    case (nil, .string(let link)?): self = .plain(link)
    case (nil, _): throw .member("register_url")
    case (_, nil): throw .member("sealed_register_url")
    case (_, _): throw .contradiction("register_url")
    }
  }

  /// - Parameter endedSessions: see ``LostDeviceSessions``.
  public func encoded(endedSessions: Int64? = nil) -> [UInt8] {
    switch self {
    case .sealed(let text):
      JSON.object([
        "status": .bool(true), "sealed_register_url": .string(text),
        LostDeviceSessions.endedName: endedSessions.map { .integer($0) },
      ]).encoded()
    case .plain(let link): RegistrationLinkReply(registerURL: link).encoded(endedSessions: endedSessions)
    }
  }
}
