import CommandSupport
import Glibc

/// Where the service's certificate comes from.
enum CertificateChoice: Sendable, Equatable {
  /// The service's own authority.
  case own
  /// Files that the administrator renews.
  case files(certificate: String, key: String)
  /// certbot's files in this folder.
  case certbot(folder: String)
}

/// The present settings. A setup changes only what it is asked to change.
struct CurrentSetup: Sendable, Equatable {
  let publicURL: String?
  let pushContact: String?
  let pushProxy: String?
  /// As administrators' browsers know the console, if it has a listener of its own; nil: as clients know the service.
  let consoleURL: String?
  /// The name and the port in ``publicURL``; nil without it.
  let name: PublicName?
  let listen: String?
  /// Nil before the first setup: the pair of the first start is in use.
  let certificate: CertificateChoice?

  /// - Throws: for settings that setup could not write back correctly.
  init(_ settings: ServiceSettings, folder: SetupFolder) throws(CommandProblem) {
    do {
      publicURL = try settings.option(.publicURL)
      pushContact = try settings.option(.pushContact)
      pushProxy = try settings.option(.pushProxy)
      let console = try settings.option(.consoleListen).flatMap { try? ListenAddress($0) }
      consoleURL = try settings.option(.consoleURL) ?? console.map { $0.usualURL(port: $0.port) }
      listen = try settings.value(.listen)
      certificate = try Self.certificate(settings, folder)
    } catch { throw CommandProblem(error) }
    name = try publicURL.map { url throws(CommandProblem) in try Self.name(in: url) }
  }

  private static func certificate(
    _ settings: ServiceSettings, _ folder: SetupFolder
  ) throws(SettingNotPlain) -> CertificateChoice? {
    let (certificate, key) = (try settings.value(.certificate), try settings.value(.key))
    switch certificate {
    case nil: return nil
    case folder.ownPair: return .own
    case folder.certbotPair: return .certbot(folder: try settings.value(.certbot) ?? "")
    case let certificate?: return .files(certificate: certificate, key: key ?? folder.firstKey)
    }
  }

  /// - Throws: for an address with a path, which setup does not write.
  private static func name(in url: String) throws(CommandProblem) -> PublicName {
    let bare = url.hasSuffix("/") ? String(url.dropLast()) : url
    let scheme = "https://"
    var host = bare.dropFirst(scheme.count)
    // The colons of an IPv6 address stand in brackets.
    if let colon = host.lastIndex(of: ":"), !host[colon...].contains("]") { host = host[..<colon] }
    guard bare.hasPrefix(scheme), let name = PublicName(String(host)) else { throw .publicURLNotPlain(url) }
    return name
  }
}
