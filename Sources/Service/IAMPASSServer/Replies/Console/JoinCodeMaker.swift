import IAMPASSProtocol

/// Makes join codes from a secret. A code has the digest of the service's certificate.
public struct JoinCodeMaker: Sendable {
  let make: @Sendable (Secret) async throws(Problem) -> JoinCode

  /// Why the console cannot make codes.
  public struct Problem: Error, Sendable {
    let text: String
    let hint: String?

    public init(_ text: String, hint: String? = nil) {
      self.text = text
      self.hint = hint
    }
  }

  public init(_ make: @escaping @Sendable (Secret) async throws(Problem) -> JoinCode) { self.make = make }

  /// For a service that does not know its certificate.
  public static let none = JoinCodeMaker { (_) throws(Problem) in
    throw Problem(
      "This service does not show a certificate of its own, so that codes are made on its computer",
      hint: "iampass-server join-code create APPLICATION --certificate FILE")
  }
}
