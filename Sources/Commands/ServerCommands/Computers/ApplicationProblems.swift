import CommandSupport
import Glibc
import IAMPASSServer

/// Problems of applications and of their computers' credentials.
extension CommandProblem {
  /// - Parameter known: the existing applications, for a hint about an unknown name.
  init(_ refusal: ApplicationRefusal, name: String, known: [String] = []) {
    switch refusal {
    case .nameTaken:
      self.init(
        message: "there is an application \(name) already", hint: "choose another name", exitCode: EX_DATAERR)
    case .nameUnknown:
      self.init(
        message: "there is no application \(name)",
        hint: Spelling.hint(for: name, known: known) ?? "iampass-server application list", exitCode: EX_DATAERR)
    case .nameNotFit:
      self.init(
        message: "this is not a valid name for an application",
        hint: "use 1 to 100 characters, none of them a control character", exitCode: EX_DATAERR)
    }
  }

  /// - Parameter isOpenID: whether the command is about OpenID clients, and not about computers.
  init(
    _ refusal: HostCredentialRefusal, application: String, name: String, host: String = "", isOpenID: Bool = false,
    known: [String] = []
  ) {
    let kind = isOpenID ? "OpenID client" : "host credential"
    let command = isOpenID ? "openid-client" : "host-credential"
    switch refusal {
    case .unknownApplication:
      self.init(
        message: "there is no application \(application)",
        hint: Spelling.hint(for: application, known: known) ?? "iampass-server application list",
        exitCode: EX_DATAERR)
    case .nameTaken:
      self.init(
        message: "\(application) has a credential \(name) already",
        hint: "choose another name, or revoke that one", exitCode: EX_DATAERR)
    case .nameNotFit:
      self.init(
        message: "this is not a valid name for a credential",
        hint: "use 1 to 100 characters, none of them a control character", exitCode: EX_DATAERR)
    case .hostNotFit:
      self.init(
        message:
          "\(host.isEmpty ? "the empty text" : host) is not a valid \(isOpenID ? "" : "host ")name for phones to show",
        hint: "use 1 to 100 characters, none of them a control character", exitCode: EX_DATAERR)
    case .unknownCredential:
      self.init(
        message: "\(application) has no \(kind) \(name) that could be revoked",
        hint: "iampass-server \(command) list \(application)", exitCode: EX_DATAERR)
    }
  }
}
