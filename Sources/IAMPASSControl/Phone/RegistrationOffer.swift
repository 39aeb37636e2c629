import IAMPASSProtocol

/// A registration link as it is shown, and what proves the keys of the phone that opens it.
struct RegistrationOffer {
  let text: String
  let proof: KeyProof

  /// - Parameter isPinned: whether the command can check the phone's keys, and pin them.
  init(_ link: String, isPinned: Bool) throws(Failure) {
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
