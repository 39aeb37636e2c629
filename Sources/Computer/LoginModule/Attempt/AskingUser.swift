import HostState
import HostSystem

/// The user of this computer who asks for another user's sign-in, for the phone to show.
enum AskingUser {
  /// The text for a request of a polkit helper that root has started. User names do not have spaces.
  static let unknown = "unknown: polkit does not say"

  /// Nil if users ask for themselves. Also nil over the network and at a greeter, where no user of this computer is
  /// known to ask.
  ///
  /// In a setuid program, the kernel's real uid is the user who started it. Otherwise the program is root's own, and is
  /// trusted.
  ///
  /// - Parameter known: the user who is asked for, if the system knows that user.
  static func name(of request: LoginRequest, knownAs known: SystemUser?) -> String? {
    let uid = request.callingUID
    guard uid == 0 else {
      if uid == known?.uid { return nil }
      return (try? SystemUser.find(uid: uid))?.name.text ?? "uid \(uid)"
    }
    // Over the network, the other computer may name any user.
    guard request.remoteHost == nil, !request.isRemoteUserOwn else { return nil }
    return request.remoteUser ?? (request.service == DesktopServices.polkit ? unknown : nil)
  }
}
