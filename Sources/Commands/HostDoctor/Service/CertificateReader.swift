import CommandSupport
import Glibc
import IAMPASSProtocol

/// The certificates that the service sends. openssl reads them as the worker's user, so that root does not parse TLS.
/// The worker itself only says whether a certificate is valid. These certificates are not verified: any server may have
/// sent them.
public enum CertificateReader {
  private static let setpriv = "/usr/bin/setpriv"
  private static let openssl = "/usr/bin/openssl"
  /// The longest wait for openssl, in seconds.
  private static let patience: Int64 = 5

  /// - Parameter workerUser: nil if the caller is not root.
  ///
  /// - Returns: the command that runs openssl as that user; nil if openssl is not installed.
  private static func program(as workerUser: String?) -> [String]? {
    guard Program.exists(openssl) else { return nil }
    guard let workerUser, geteuid() == 0 else { return [openssl] }
    guard Program.exists(setpriv), let user = getpwnam(workerUser)?.pointee, user.pw_uid != 0 else { return nil }
    return [
      setpriv, "--reuid=\(user.pw_uid)", "--regid=\(user.pw_gid)", "--clear-groups", "--no-new-privs", openssl,
    ]
  }

  private static func connection(to server: ServerURL, proxy: String?) -> [String] {
    let address = "\(server.host):\(server.port)"
    let name = server.hostName.contains(":") ? [] : ["-servername", server.hostName]
    let way = proxy.map { ["-proxy", String($0.dropFirst("http://".count).prefix { $0 != "/" })] } ?? []
    return ["s_client", "-connect", address] + name + way
  }

  /// The certificates that the server at this address sends, as DER and not verified; nil if it sends none.
  public static func shownChain(of server: ServerURL, workerUser: String?, proxy: String?) -> [[UInt8]]? {
    guard let program = program(as: workerUser),
      let shown = Program.run(program + connection(to: server, proxy: proxy) + ["-showcerts"], seconds: patience)
    else { return nil }
    let found = CertificateChain.certificates(in: Array(shown.output.utf8))
    return found.isEmpty ? nil : found
  }

  static func end(of server: ServerURL, workerUser: String) -> Int64? {
    guard let program = program(as: workerUser),
      let own = shownChain(of: server, workerUser: workerUser, proxy: nil)?.first
    else { return nil }
    let pem = CertificateChain.pem(own)
    guard pem.count < 60_000 else { return nil }
    return Program.run(program + ["x509", "-noout", "-enddate"], input: pem, seconds: patience).flatMap {
      CertificateTerm.end($0.output)
    }
  }
}
