import CommandSupport
import Dispatch
import Glibc
import HostSystem
import IAMPASSProtocol
import IAMPASSServer

/// The certificate by which joining computers recognize the service.
struct JoinAnchor {
  /// The greatest size of the file in bytes. A chain with its key has a few thousand.
  private static let greatestFile = 1_048_576

  let kind: JoinCode.Anchor
  let digest: [UInt8]

  /// - Parameters:
  ///   - certificate: the certificate's file; nil: the one in the settings.
  ///   - settings: the settings file of the packaged service.
  init(certificate: String?, settings: String) throws(CommandProblem) {
    let path: String
    if let certificate { path = certificate } else { path = try Self.configured(in: settings) }
    let chain: [[UInt8]]
    do {
      chain = CertificateChain.certificates(
        in: try SecureFile.read(path, privacy: .readableByAll, limit: Self.greatestFile))
    } catch { throw CommandProblem(error) }
    guard let own = chain.first, let last = chain.last else { throw .noCertificateForJoin(path) }
    if Self.isTrustedBySystem(path) {
      kind = .certificate
      digest = Digest.sha256(own)
    } else {
      // A certificate that is not self-signed expires soon, and computers that know only this one would lose the
      // service.
      guard chain.count > 1 || Self.isSelfSigned(path) else { throw .authorityNotShown(path) }
      kind = .authority
      digest = Digest.sha256(last)
    }
  }

  private static func configured(in path: String) throws(CommandProblem) -> String {
    do {
      let bytes = try SecureFile.read(path, privacy: .readableByAll, limit: 65_536)
      if let file = try ServiceSettings(String(decoding: bytes, as: UTF8.self)).value(.certificate) { return file }
    } catch {}
    throw .certificateNotKnown
  }

  private static func isTrustedBySystem(_ path: String) -> Bool {
    Program.run(["/usr/bin/openssl", "verify", "-untrusted", path, path])?.status == 0
  }

  private static func isSelfSigned(_ path: String) -> Bool {
    // X509_V_FLAG_CHECK_SS_SIGNATURE makes openssl check the certificate's own signature.
    Program.run(["/usr/bin/openssl", "verify", "-check_ss_sig", "-CAfile", path, path])?.status == 0
  }
}

extension JoinCodeMaker {
  /// - Parameter certificate: the file of the service's certificate. openssl reads it, on its own thread.
  init(certificate: String) {
    self.init { (secret) throws(Problem) in
      let found: Result<JoinAnchor, CommandProblem> = await withCheckedContinuation { continuation in
        DispatchQueue.global().async {
          continuation.resume(
            returning: Result { () throws(CommandProblem) in
              try JoinAnchor(certificate: certificate, settings: "")
            })
        }
      }
      switch found {
      case .success(let anchor): return JoinCode(anchor: anchor.kind, digest: anchor.digest, secret: secret)
      case .failure(let problem): throw Problem(problem.message, hint: problem.hint)
      }
    }
  }
}

extension CommandProblem {
  static let certificateNotKnown = CommandProblem(
    message: "it is not known which certificate the service shows", hint: "name its file with --certificate",
    exitCode: EX_USAGE)

  static func noCertificateForJoin(_ path: String) -> CommandProblem {
    CommandProblem(
      message: "\(path) has no certificate", hint: "name the file that the service shows with --certificate",
      exitCode: EX_NOINPUT)
  }

  static func authorityNotShown(_ path: String) -> CommandProblem {
    CommandProblem(
      message: "\(path) has a certificate of an authority that this system does not trust, without that authority",
      hint: "append the authority's certificate to the file, and reload the service; or run iampass-server setup again",
      exitCode: EX_DATAERR)
  }
}
