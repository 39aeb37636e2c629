/// The PAM services whose sessions nobody watches, by ``ServiceTable``: those that authenticate one user and open for
/// another, without a session of their own at logind, and those that open no session, such as screen lockers.
///
/// The module, the helper and `iampassctl check` all ask here: a service that one of them watched and another did not
/// would have a session that nobody ends.
public enum UnwatchedServices {
  /// - Parameter service: PAM_SERVICE, as the host set it.
  public static func contains(_ service: String) -> Bool { ServiceTable.row(service)?.opensSession == false }
}
