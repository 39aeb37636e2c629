import CommandSupport
import Glibc
import IAMPASSProtocol
import IAMPASSServer

/// Problems of `serve`.
extension CommandProblem {
  static func badListen(_ text: String) -> CommandProblem {
    CommandProblem(
      message: "\(text) is not an address and a port to listen on", hint: "for example 127.0.0.1:8443 or [::]:443",
      exitCode: EX_USAGE)
  }

  static func badPublicURL(_ text: String) -> CommandProblem {
    CommandProblem(
      message: "\(text) is not a public address", hint: "for example https://iampass.example.org", exitCode: EX_USAGE)
  }

  static func badConsoleURL(_ text: String) -> CommandProblem {
    CommandProblem(
      message: "\(text) is not an address of a console",
      hint: "for example --console-url https://iampass-console.example.org:9443", exitCode: EX_USAGE)
  }

  static func noConsoleURL(_ listen: String) -> CommandProblem {
    CommandProblem(
      message: "\(listen) is not on loopback only, and --console-url does not say which address browsers use",
      hint: "for example --console-url https://iampass-console.example.org:9443, or --console-listen 127.0.0.1:9443",
      exitCode: EX_USAGE)
  }

  static let consoleWithoutPublicURL = CommandProblem(
    message: "--console-listen needs --public-url, which the console's links for computers and phones begin with",
    hint: "for example --public-url https://iampass.example.org:8443", exitCode: EX_USAGE)

  static func badPushContact(_ text: String) -> CommandProblem {
    CommandProblem(
      message: "\(DisplayText.sanitized(text)) is not an address that push services can write to",
      hint: "for example --push-contact mailto:admin@example.org", exitCode: EX_USAGE)
  }

  static func badPushProxy(_ text: String) -> CommandProblem {
    CommandProblem(
      message: "\(DisplayText.sanitized(text)) is not the address of a proxy",
      hint: "for example --push-proxy http://proxy.example.org:3128, without a user's name and password",
      exitCode: EX_USAGE)
  }

  static func noPublicURL(_ listen: String) -> CommandProblem {
    CommandProblem(
      message: "\(listen) is not on loopback only, and --public-url does not say which address clients use",
      hint: "for example --public-url https://iampass.example.org:8443, or --listen 127.0.0.1:8443", exitCode: EX_USAGE)
  }

  static let noAddress = CommandProblem(
    message: "the service's address is not known yet",
    hint: "start the service once, or give its address with --public-url", exitCode: EX_USAGE)

  static func notListening(on address: String, option: String, detail: String) -> CommandProblem {
    CommandProblem(
      message: "cannot listen on \(address): \(detail)",
      hint: "look for another program on that port, or choose another with \(option)", exitCode: EX_UNAVAILABLE)
  }

  static func noSignals(_ code: Int32) -> CommandProblem {
    CommandProblem(
      message: "cannot wait for signals: \(systemText(code))", hint: "raise the limit of open files",
      exitCode: EX_UNAVAILABLE
    )
  }

  static func badProxy(_ text: String) -> CommandProblem {
    CommandProblem(
      message: "\(text) is not the address of a proxy", hint: "use a numeric address, for example 127.0.0.1",
      exitCode: EX_USAGE)
  }

  static func badLogLevel(_ text: String) -> CommandProblem {
    CommandProblem(
      message: "there is no log level \(text)",
      hint: "use one of trace, debug, info, notice, warning, error, critical", exitCode: EX_USAGE)
  }

  init(_ error: ServerError) {
    switch error.code {
    case .certificateUnreadable:
      self.init(
        message: "\(error.subject) has no certificate: \(error.detail)",
        hint: "name a readable PEM file with --tls-cert, or --push-ca", exitCode: EX_NOINPUT)
    case .keyUnreadable:
      self.init(
        message: "\(error.subject) has no private key: \(error.detail)",
        hint: "name a readable PEM file with --tls-key", exitCode: EX_NOINPUT)
    case .certificateRefused:
      self.init(
        message: "\(error.subject) cannot be used with the key: \(error.detail)",
        hint: "certificate and key must belong together", exitCode: EX_DATAERR)
    }
  }
}
