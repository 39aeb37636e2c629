import CommandSupport
import Glibc
import HostSystem

/// What can go wrong with a setup.
extension CommandProblem {
  init(_ error: FileError) {
    self.init(
      message: error.explanation, hint: error.hint ?? "look at the file, its folder and its disk, and run this again",
      exitCode: error.code == .missing ? EX_NOINPUT : EX_IOERR)
  }

  init(_ setting: SettingNotPlain) {
    self.init(
      message: "the setting \(setting.key.rawValue) of the service has quotes or escapes that setup does not change",
      hint: "write its value without them, and run this again", exitCode: EX_CONFIG)
  }

  static func notReadable(_ path: String, _ error: CertificateError) -> CommandProblem {
    let what = error == .noKey ? "no private key without a passphrase" : "no certificate"
    return CommandProblem(
      message: "\(path) has \(what) in PEM", hint: "look at the file, and run this again", exitCode: EX_DATAERR)
  }

  static func notAPair(_ certificate: String, _ key: String) -> CommandProblem {
    CommandProblem(
      message: "the key in \(key) is not the key of the certificate in \(certificate)",
      hint: "give the two files that belong together", exitCode: EX_DATAERR)
  }

  static func certificateEnded(_ path: String) -> CommandProblem {
    CommandProblem(
      message: "the certificate in \(path) has expired", hint: "renew it, and run this again", exitCode: EX_DATAERR)
  }

  static func certificateNotBegun(_ path: String) -> CommandProblem {
    CommandProblem(
      message: "the certificate in \(path) is not valid yet", hint: "look at the clock of this computer with date",
      exitCode: EX_DATAERR)
  }

  static func certificateForOthers(_ path: String, _ name: String) -> CommandProblem {
    CommandProblem(
      message: "the certificate in \(path) is not for \(name)",
      hint: "openssl x509 -noout -ext subjectAltName -in \(path) prints its names", exitCode: EX_DATAERR)
  }

  static func authorityWithoutKey(_ key: String) -> CommandProblem {
    CommandProblem(
      message: "the key of this service's authority is missing: \(key)",
      hint: "put the key back, or make another authority with --new-authority, which each computer must then be told",
      exitCode: EX_NOINPUT)
  }

  static func authorityRefuses(_ name: String, _ reason: String) -> CommandProblem {
    CommandProblem(
      message: "the authority of this service cannot sign for \(name): \(reason)",
      hint: "make another authority with --new-authority; computers that trust this one must then be set up again",
      exitCode: EX_DATAERR)
  }

  static func notMade(_ path: String, _ reason: String) -> CommandProblem {
    CommandProblem(
      message: "\(path) cannot be made: \(reason)", hint: "run this again; if it stays so, look at the kernel's log",
      exitCode: EX_UNAVAILABLE)
  }

  static func noCredential(_ path: String) -> CommandProblem {
    CommandProblem(
      message: "\(path) is there, and is not the file of an application's credential",
      hint: "choose another file with --secret-file: nothing is overwritten", exitCode: EX_CANTCREAT)
  }

  static func publicURLNotPlain(_ url: String) -> CommandProblem {
    CommandProblem(
      message: "the address \(url) in the service's settings is not https://NAME or https://NAME:PORT",
      hint: "setup does not change such a service: edit its settings by hand, as iampass-server(8) says",
      exitCode: EX_CONFIG)
  }
}
