import ArgumentParser
import CHost
import CommandSupport
import DeviceProtocol
import Glibc
import IAMPASSPhone
import IAMPASSProtocol
import WorkerLink

extension WorkerTransport {
  /// Uses the worker program for the network.
  static func ofPhone(
    to server: ServerURL, authority: CertificateBundle?, worker: String?, interrupt: Interrupt
  ) -> WorkerTransport {
    let settings = WorkerSettings(
      server: server, caCertificates: authority, worker: worker ?? installedWorker(),
      // The worker refuses to run as root.
      workerUser: geteuid() == 0 ? "nobody" : nil, lifetime: 0)
    return WorkerTransport(settings: settings, interruption: interrupt)
  }

  /// The worker beside this program; otherwise the path where the package installs it.
  private static func installedWorker() -> String {
    var buffer = [UInt8](repeating: 0, count: 4_096)
    let count = buffer.withUnsafeMutableBytes { bytes in
      bytes.baseAddress.map { readlink("/proc/self/exe", $0, bytes.count) } ?? -1
    }
    if count > 0, let own = String(validating: buffer.prefix(count), as: UTF8.self),
      let slash = own.lastIndex(of: "/")
    {
      let beside = own[..<slash] + "/iampass-https"
      if access(String(beside), X_OK) == 0 { return String(beside) }
    }
    return "/usr/libexec/iampass/iampass-https"
  }
}

extension RegisteredPhone {
  /// The phone of a state file.
  convenience init(_ option: StateOption, interrupt: Interrupt) throws {
    let file = StateFile(path: option.state)
    // A file that cannot be written is used as it is.
    let account = try (try? file.readWithAgreementKey()) ?? file.read()
    let authority = try account.authority.map { (pem) throws(CommandProblem) in
      guard let bundle = CertificateBundle(pem: Array(pem.utf8)) else {
        throw .authorityNotReadable(option.state, "its authority has no certificate")
      }
      return bundle
    }
    self.init(
      account: account,
      transport: WorkerTransport.ofPhone(
        to: account.server, authority: authority, worker: option.worker, interrupt: interrupt))
  }
}

/// Runs `work`, and turns the service's failures into messages for a person.
func explaining<Value>(_ work: () throws -> Value) throws -> Value {
  do {
    return try work()
  } catch let error as PhoneError {
    if case .transport(let error) = error, error.code == .interrupted { throw ExitCode(Interrupt.exitCode) }
    throw CommandProblem(error)
  } catch is DeviceKeyError {
    throw CommandProblem.noKey
  }
}
