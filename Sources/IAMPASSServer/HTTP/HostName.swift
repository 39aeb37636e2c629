import IAMPASSProtocol

extension ServerURL {
  /// The host where it is a DNS name; nil for an address by number.
  var hostName: String? {
    let host = authority.prefix { $0 != ":" }
    // No top-level domain is a number, and no number ends with a letter but in brackets.
    guard !authority.hasPrefix("["), let last = host.split(separator: ".").last, last.contains(where: \.isLetter) else {
      return nil
    }
    return String(host)
  }

  /// The port, the scheme's own where none is written.
  var port: Int {
    let usual = isEncrypted ? 443 : 80
    guard let colon = authority.lastIndex(of: ":"), !authority[colon...].contains("]") else { return usual }
    return Int(authority[authority.index(after: colon)...]) ?? usual
  }

  private var authority: Substring { origin.drop { $0 != "/" }.dropFirst(2) }
}

extension Service {
  /// Why browsers will not open the phone's page; nil where nothing that the service can see is in the way.
  ///
  /// - Parameter certificate: the file of what is shown to browsers; nil where a proxy shows its own.
  public func pageProblem(certificate: String?) -> String? {
    guard let publicURL else { return "no --public-url is given, so links may lead to a number" }
    guard let name = publicURL.hostName else { return "\(publicURL) has no DNS name" }
    return certificate.flatMap { PageCertificate.problem(of: $0, for: name) }
  }
}
