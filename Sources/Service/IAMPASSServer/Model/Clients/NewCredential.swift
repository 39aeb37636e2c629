import IAMPASSProtocol

/// A new credential as it is shown once: the lines of a file for `iampassctl setup --secret-file`, or the configuration
/// of an OpenID client.
///
/// Besides id and secret, the lines say what the computer must require of the service from its first call on. At that
/// time, answers from the network cannot be trusted yet.
public struct NewCredential: Sendable {
  private let members: [(name: String, value: String)]

  /// - Parameters:
  ///   - server: the service's address for clients; nil without `--public-url`.
  ///   - host: the only computer's name that the credential may use; nil for an application's own.
  public init(id: String, secret: Secret, server: String?, host: String?) {
    members =
      [
        ("application_id", id), ("application_secret", secret.exposedValue),
        // This service signs all its replies, and the target of the request.
        ("signed_replies", "required"), ("signed_targets", "required"),
      ] + [("server", server), ("host", host)].compactMap { name, value in value.map { (name, $0) } }
  }

  /// - Parameter issuer: the service's public address; nil without `--public-url`.
  public init(openIDClient id: String, secret: Secret, issuer: String?) {
    members = [("client_id", id), ("client_secret", secret.exposedValue)] + (issuer.map { [("issuer", $0)] } ?? [])
  }

  public var text: String { members.map { "\($0.name) = \($0.value)" }.joined(separator: "\n") }

  public var json: JSON { .object(members.map { JSON.Member($0.name, .string($0.value)) }) }
}
