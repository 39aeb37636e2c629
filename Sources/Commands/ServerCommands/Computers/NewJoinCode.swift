import CommandSupport
import Glibc
import IAMPASSProtocol
import IAMPASSServer

/// A join code as it is shown once.
struct NewJoinCode {
  let id: String
  /// The command to type on a computer.
  let command: String

  static func make(
    for application: String, at url: ServerURL, anchor: JoinAnchor, uses: Int, days: Int, isUnattended: Bool,
    group: String = "", in storage: any JoinStore & OperatorStore
  ) async throws -> NewJoinCode {
    guard let random = Digest.randomBytes(JoinCode.secretLength) else {
      throw CommandProblem(
        message: "the system does not give random bytes", hint: "look at the kernel's log", exitCode: EX_UNAVAILABLE)
    }
    let secret = Secret(Base64URL.encode(random))
    let order = JoinOrder(
      application: application, secret: secret, uses: uses, days: days, isUnattended: isUnattended, group: group)
    do {
      let stored = try await storage.createJoinCode(order, at: storage.now())
      let fleet = stored.fleet(try await storage.administratorSets())
      let code = JoinCode(anchor: anchor.kind, digest: anchor.digest, secret: secret, fleet: fleet?.digest)
      return NewJoinCode(id: stored.id, command: "iampassctl join \(url) \(code.exposedText)")
    } catch JoinOrderRefusal.groupNotFit {
      throw CommandProblem(UserListRefusal.groupNotFit, application: application)
    } catch JoinOrderRefusal.unknownApplication {
      throw CommandProblem(
        ApplicationRefusal.nameUnknown, name: DisplayText.sanitized(application),
        known: await storage.knownApplications())
    }
  }

  var lines: [String] { [command] }
}
