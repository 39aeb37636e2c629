/// Whether the service's own authority must make another certificate.
enum LeafRenewal: Sendable, Equatable {
  case keep
  case make(Reason)

  enum Reason: Sendable, Equatable {
    /// There is no certificate, or it cannot be read.
    case missing
    /// The certificate is for another name.
    case otherName
    /// The certificate is of another authority, or does not belong to the key.
    case otherIssuer
    /// The certificate expires within ``LeafRenewal/renewalTime``, or is not valid yet.
    case ends
  }

  /// How long before a certificate's end another is made, in seconds: 30 days, as with certbot. The timer then has 30
  /// tries, and the service warns in the last 14 days.
  static let renewalTime: Int64 = 30 * 86_400

  /// - Parameters:
  ///   - facts: the facts about the present certificate; nil if there is none.
  ///   - now: the time in Unix seconds.
  static func decide(_ facts: LeafFacts?, at now: Int64) -> LeafRenewal {
    guard let facts else { return .make(.missing) }
    guard facts.isOfAuthority else { return .make(.otherIssuer) }
    guard facts.isForName else { return .make(.otherName) }
    // A new certificate would not last longer if the authority itself ends then.
    let isLast = facts.ends >= facts.authorityEnds
    guard facts.begins <= now, facts.ends > now, isLast || facts.ends - now > renewalTime else { return .make(.ends) }
    return .keep
  }
}

/// The facts about the present certificate.
struct LeafFacts: Sendable, Equatable {
  let isOfAuthority: Bool
  let isForName: Bool
  /// When it becomes valid, in Unix seconds.
  let begins: Int64
  let ends: Int64
  let authorityEnds: Int64
}
