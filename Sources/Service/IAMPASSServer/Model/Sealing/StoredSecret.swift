import IAMPASSProtocol

/// A secret of a session: as it was made or opened, or as its row has it sealed.
enum StoredSecret: Sendable, Equatable {
  case clear(Secret)
  /// As it is stored.
  case sealed(String)

  init(stored text: String) { self = SealedText.isSealed(text) ? .sealed(text) : .clear(Secret(text)) }

  /// As it is stored, or in clear.
  var text: String {
    switch self {
    case .clear(let secret): secret.exposedValue
    case .sealed(let text): text
    }
  }

  /// The secret. Throws ``SealFault`` if nobody has opened it.
  var value: Secret {
    get throws(SealFault) {
      switch self {
      case .clear(let secret): return secret
      case .sealed(let text): throw SealFault(.noKey, SealedText(text)?.keyID ?? "")
      }
    }
  }
}
