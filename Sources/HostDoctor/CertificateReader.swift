import CommandSupport
import Glibc
import IAMPASSProtocol

/// The end of the certificate that the service shows. openssl reads it, as the worker's user: nothing parses TLS as
/// root, and the worker tells no more of a certificate than whether it is good.
enum CertificateReader {
  private static let setpriv = "/usr/bin/setpriv"
  private static let openssl = "/usr/bin/openssl"
  /// In seconds.
  private static let patience: Int64 = 5

  static func end(of server: ServerURL, workerUser: String) -> Int64? {
    guard Program.exists(setpriv), Program.exists(openssl), let user = getpwnam(workerUser)?.pointee, user.pw_uid != 0
    else { return nil }
    let drop = [
      setpriv, "--reuid=\(user.pw_uid)", "--regid=\(user.pw_gid)", "--clear-groups", "--no-new-privs", openssl,
    ]
    let address = "\(server.host):\(server.port)"
    let name = server.hostName.contains(":") ? [] : ["-servername", server.hostName]
    let shown = Program.run(drop + ["s_client", "-connect", address] + name, seconds: patience)
    guard let shown, let begin = shown.output.range(of: "-----BEGIN CERTIFICATE-----"),
      let end = shown.output.range(of: "-----END CERTIFICATE-----"), begin < end
    else { return nil }
    let pem = Array((shown.output[begin..<end] + "-----END CERTIFICATE-----\n").utf8)
    guard pem.count < 60_000 else { return nil }
    return Program.run(drop + ["x509", "-noout", "-enddate"], input: pem, seconds: patience).flatMap {
      CertificateTerm.end($0.output)
    }
  }
}

extension StringProtocol {
  /// The index of a text's first character, without Foundation.
  fileprivate func range(of text: String) -> Index? {
    var index = startIndex
    while index < endIndex {
      if self[index...].hasPrefix(text) { return index }
      formIndex(after: &index)
    }
    return nil
  }
}
