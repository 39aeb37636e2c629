import IAMPASSProtocol

extension ServerURL {
  /// The host as in the address, with the brackets of an IPv6 address.
  public var host: String {
    let authority = origin.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: true)[1].dropFirst()
    if authority.hasPrefix("["), let close = authority.firstIndex(of: "]") { return String(authority[...close]) }
    return String(authority.prefix { $0 != ":" })
  }

  /// The host without brackets.
  public var hostName: String { String(host.filter { $0 != "[" && $0 != "]" }) }

  /// The port in digits. If the address names none, it is the scheme's default port.
  public var port: String {
    let after = origin.dropFirst((isEncrypted ? "https://" : "http://").count + host.count)
    return after.isEmpty ? (isEncrypted ? "443" : "80") : String(after.dropFirst())
  }
}
