import IAMPASSProtocol

/// A client that may start sign-in sessions: an application itself, or one of its hosts.
struct SignInClient: Sendable {
  let application: KnownApplication
  /// Nil: the application's own id and secret.
  let credential: KnownCredential?
  /// The secret that it signs with.
  let secret: Secret

  /// The id that it signs under, and that stands in its paths.
  var id: String { credential?.id ?? application.id }
  /// An OpenID client signs nothing: what is stored of its secret is a digest.
  var signs: Bool { credential?.isOpenID != true }
}

extension SignInClient {
  init(application: Application, credential: HostCredential?) {
    self.init(
      application: application.known, credential: credential?.known, secret: credential?.secret ?? application.secret)
  }
}
