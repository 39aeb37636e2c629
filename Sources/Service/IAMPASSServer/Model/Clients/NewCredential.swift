import IAMPASSProtocol

/// A new credential as it is handed over, this one time: the lines of a file for `iampassctl setup --secret-file`, or
/// what an OpenID client is configured with.
///
/// Beside id and secret they say what that computer must hold the service to from its first call on, when nothing that
/// it is told over the network can be trusted yet.
public struct NewCredential: Sendable {
  private let members: [(name: String, value: String)]

  /// - Parameters:
  ///   - server: where clients reach the service; nil where `--public-url` does not say.
  ///   - host: the only host that the credential may ask for; nil for an application's own.
  public init(id: String, secret: Secret, server: String?, host: String?) {
    members =
      [
        ("application_id", id), ("application_secret", secret.exposedValue),
        // This service signs all its replies, with what was asked.
        ("signed_replies", "required"), ("signed_targets", "required"),
      ] + [("server", server), ("host", host)].compactMap { name, value in value.map { (name, $0) } }
  }

  /// - Parameter issuer: the service's public address; nil where `--public-url` does not say.
  public init(openIDClient id: String, secret: Secret, issuer: String?) {
    members = [("client_id", id), ("client_secret", secret.exposedValue)] + (issuer.map { [("issuer", $0)] } ?? [])
  }

  public var text: String { members.map { "\($0.name) = \($0.value)" }.joined(separator: "\n") }

  public var json: JSON { .object(members.map { JSON.Member($0.name, .string($0.value)) }) }
}
