/// Why no approval of a user could be verified. The user's phone is then not rung.
public enum TrustGap: Error, Sendable, Equatable {
  /// This computer trusts no phone of the user.
  case noPhone
  /// No trusted phone can prove a method that is asked for.
  case noMethod([AuthenticationMethod])
}

/// What an approval must prove to this computer: which phones may give it, and the method for each.
public struct ApprovalDemand: Sendable {
  /// The methods that a computer can verify, the strongest first. `facial` is only an app's word, which no signature
  /// proves.
  private static let verifiable: [AuthenticationMethod] = [.device, .acceptance]

  /// Each phone that can prove a method, with its strongest method.
  private let phones: [(phone: PinnedPhone, method: AuthenticationMethod)]
  /// The ids of the phones among them that are administrators'.
  private let locumIDs: [String]
  package let verifier: any SignatureVerifier

  /// - Parameters:
  ///   - phones: the user's phones that this computer trusts.
  ///   - locums: phones that may answer for the user's own phones. They are not enough by themselves.
  ///   - asked: the methods that are enough for this sign-in; if empty, the phones choose.
  public init(
    phones: [PinnedPhone], locums: [PinnedPhone] = [], asked: [AuthenticationMethod], verifier: any SignatureVerifier
  ) throws(TrustGap) {
    guard !phones.isEmpty else { throw .noPhone }
    func able(
      _ phones: [PinnedPhone], _ enough: [AuthenticationMethod]
    ) -> [(phone: PinnedPhone, method: AuthenticationMethod)] {
      phones.compactMap { phone in
        Self.verifiable.first { (enough.isEmpty || enough.contains($0)) && phone.proves($0) }.map { (phone, $0) }
      }
    }
    let own = able(phones, asked)
    guard !own.isEmpty else { throw .noMethod(asked) }
    // For a phone in both lists, the user's own entry counts. A locum does not change what the user's own phones are
    // asked.
    let others = able(locums, own.map(\.method)).filter { locum in
      !phones.contains { $0.id == locum.phone.id || $0.key == locum.phone.key }
    }
    self.phones = own + others
    locumIDs = others.map(\.phone.id)
    self.verifier = verifier
  }

  /// The methods that the service is told to request, the strongest first.
  public var methods: [AuthenticationMethod] {
    Self.verifiable.filter { method in phones.contains { $0.method == method } }
  }

  /// The phones that may answer, the user's own before locums.
  public var phoneIDs: [String] { phones.map(\.phone.id) }

  /// Whether one of these phones has the id, keys and method of this approval.
  public func takes(_ approval: VerifiedApproval) -> Bool {
    guard let (phone, method) = phone(approval.phone.id) else { return false }
    return isLocum(phone) == approval.isByLocum && phone.key == approval.phone.key
      && phone.credential == approval.phone.credential
      && method == approval.method
  }

  package func isLocum(_ phone: PinnedPhone) -> Bool { locumIDs.contains { $0.utf8.elementsEqual(phone.id.utf8) } }

  /// The trusted phone with this id, and the method that it must use.
  package func phone(_ id: String) -> (phone: PinnedPhone, method: AuthenticationMethod)? {
    phones.first { $0.phone.id.utf8.elementsEqual(id.utf8) }
  }
}

extension PinnedPhone {
  /// Whether the known keys of the phone are enough to verify this method.
  fileprivate func proves(_ method: AuthenticationMethod) -> Bool {
    switch method {
    case .acceptance: true
    case .device: credential != nil
    case .facial: false
    }
  }
}
