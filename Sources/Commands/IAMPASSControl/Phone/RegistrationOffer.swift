import CommandSupport
import IAMPASSClient
import IAMPASSProtocol

/// A registration link to show, and how the keys of the phone that opens it are proven.
struct RegistrationOffer {
  let text: String
  let proof: KeyProof

  /// - Parameters:
  ///   - server: the configuration's `server`. A phone signs for the address at which it was registered.
  ///   - isPinned: whether the command can check the phone's keys, and pin them.
  ///   - isVerified: whether sign-ins need a pinned phone.
  /// - Throws: ``CommandProblem/linkElsewhere(_:_:)`` if a phone that is or must be pinned would register at another
  ///   address.
  init(_ link: String, server: ServerURL, isPinned: Bool, isVerified: Bool) throws(CommandProblem) {
    if isPinned || isVerified, (try? server.ownAddress(link)) == nil { throw .linkElsewhere(link, server) }
    guard isPinned else {
      (text, proof) = (link, .untold)
      return
    }
    guard let secret = PinningLink.drawSecret() else { throw .service(.noRandomness) }
    if let pinning = PinningLink(link, secret: secret) {
      (text, proof) = (pinning.text, .link(pinning))
    } else {
      (text, proof) = (link, .words)
    }
  }
}

extension ConfiguredHost {
  /// A registration link as this computer shows it.
  ///
  /// - Parameter isPinned: whether the command can check the phone's keys, and pin them.
  func offer(_ link: String, isPinned: Bool) throws(CommandProblem) -> RegistrationOffer {
    try RegistrationOffer(
      link, server: try server(), isPinned: isPinned, isVerified: setup.configuration.approvals == .verified)
  }

  /// Throws if the service says that its phones are registered at another address: they sign for that address, so their
  /// approvals are not valid here. An older service does not say it.
  func requireOwnPhones() throws(CommandProblem) {
    let server = try server()
    if let address = try announcement()?.address, address.origin != server.origin {
      throw .linkElsewhere(address.description, server)
    }
  }
}
