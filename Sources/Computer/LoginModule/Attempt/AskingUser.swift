import HostState
import HostSystem

/// The user of this computer who asks for another user's sign-in, as the phone shows it.
enum AskingUser {
  /// What the phone shows of a request by a helper of polkit that root began. No user's name has spaces.
  static let unknown = "unknown: polkit does not say"

  /// Nil if users ask for themselves, and if nobody of this computer is known to ask: over the network and at a greeter.
  ///
  /// Whoever began a setuid program is its real uid, by the kernel's word. Otherwise the program is root's own, and is
  /// believed.
  ///
  /// - Parameter known: the user who is asked for, if the system knows that user.
  static func name(of request: LoginRequest, knownAs known: SystemUser?) -> String? {
    let uid = request.callingUID
    guard uid == 0 else {
      if uid == known?.uid { return nil }
      return (try? SystemUser.find(uid: uid))?.name.text ?? "uid \(uid)"
    }
    // Who asks over the network is whatever the other computer says.
    guard request.remoteHost == nil, !request.isRemoteUserOwn else { return nil }
    return request.remoteUser ?? (request.service == DesktopServices.polkit ? unknown : nil)
  }
}
