/// Whether the service's own authority has to make another certificate.
enum LeafRenewal: Sendable, Equatable {
  case keep
  case make(Reason)

  enum Reason: Sendable, Equatable {
    /// There is none, or it is not readable.
    case missing
    /// It is for another name.
    case otherName
    /// It is of another authority, or does not fit the key.
    case otherIssuer
    /// It ends within ``LeafRenewal/renewalTime``, or its time has not begun.
    case ends
  }

  /// Seconds before a certificate's end from which another is made: 30 days, as certbot does it. The timer then has 30
  /// tries, and the service warns of the last 14 days.
  static let renewalTime: Int64 = 30 * 86_400

  /// - Parameters:
  ///   - facts: of the certificate that is there; nil if there is none.
  ///   - now: Unix seconds.
  static func decide(_ facts: LeafFacts?, at now: Int64) -> LeafRenewal {
    guard let facts else { return .make(.missing) }
    guard facts.isOfAuthority else { return .make(.otherIssuer) }
    guard facts.isForName else { return .make(.otherName) }
    // Nothing is gained if the authority itself ends then.
    let isLast = facts.ends >= facts.authorityEnds
    guard facts.begins <= now, facts.ends > now, isLast || facts.ends - now > renewalTime else { return .make(.ends) }
    return .keep
  }
}

/// What counts about the certificate that is there.
struct LeafFacts: Sendable, Equatable {
  let isOfAuthority: Bool
  let isForName: Bool
  /// Unix seconds.
  let begins: Int64
  let ends: Int64
  let authorityEnds: Int64
}
