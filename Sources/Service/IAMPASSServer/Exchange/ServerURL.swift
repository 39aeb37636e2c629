import IAMPASSProtocol

extension ServerURL {
  /// The host if it is a DNS name; nil for a numeric address.
  public var hostName: String? {
    let host = authority.prefix { $0 != ":" }
    // A top-level domain is not a number. A numeric address ends with a letter only in brackets.
    guard !authority.hasPrefix("["), let last = host.split(separator: ".").last, last.contains(where: \.isLetter) else {
      return nil
    }
    return String(host)
  }

  /// The port; the scheme's default if the address has none.
  var port: Int {
    let usual = isEncrypted ? 443 : 80
    guard let colon = authority.lastIndex(of: ":"), !authority[colon...].contains("]") else { return usual }
    return Int(authority[authority.index(after: colon)...]) ?? usual
  }

  /// `iss` of the tokens: the service's address, without a slash at its end.
  var issuer: String { origin + basePath }

  private var authority: Substring { origin.drop { $0 != "/" }.dropFirst(2) }
}
