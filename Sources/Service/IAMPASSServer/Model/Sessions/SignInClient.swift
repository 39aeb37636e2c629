import IAMPASSProtocol

/// A client that may start sign-in sessions: an application itself, or one of its hosts.
struct SignInClient: Sendable {
  let application: Application
  /// Nil: the application's own id and secret.
  let credential: HostCredential?

  /// The id that it signs under, and that stands in its paths.
  var id: String { credential?.id ?? application.id }
  /// An OpenID client signs nothing: what is stored of its secret is a digest.
  var signs: Bool { credential?.isOpenID != true }
  var secret: Secret { credential?.secret ?? application.secret }
}
