import HostState
import PAMStacks

/// The facts about an unknown PAM service, and the row that an administrator can write for it.
public struct ServiceProposal {
  let service: String
  /// The line of its session stack that opens a login session, pam_systemd; nil without one.
  let loginSession: PAMLine?
  let program: ServiceProgram

  /// - Parameter session: the service's session stack.
  public init(service: String, session: [PAMEntry], program: ServiceProgram) {
    self.service = service
    loginSession = session.flatMap(\.lines).first { $0.moduleName == "pam_systemd" }
    self.program = program
  }

  /// The hint that says which row to write into which file.
  static func row(for service: String) -> String { "write kind = \(OwnServices.kind) to \(path(of: service))" }

  private static func path(of service: String) -> String {
    "\(SetupPlace(configuration: Configuration.path).ownServices)/\(service).conf"
  }

  /// The facts, and the conclusion.
  public var lines: [String] {
    ["nothing is known of \(service)", "  session  \(sessionText)", "  program  \(programText)"] + advice
  }

  private var sessionText: String {
    loginSession.map { "pam_systemd.so opens a login session (\($0.place))" }
      ?? "no login session: its stack does not have pam_systemd.so"
  }

  private var programText: String {
    switch program {
    case .sudo(let option): "sudo, by \(option) in \(Sudoers.path)"
    case .withRootsRights(let path): "users start \(path), which has root's rights"
    case .withUsersRights(let path): "users start \(path), which has their rights only"
    case .ofRoot(let path): "root starts \(path)"
    case .unknown: "there is none of this name"
    }
  }

  private var advice: [String] {
    switch (program, loginSession) {
    case (.sudo, _), (.withRootsRights, nil):
      ["it asks for single commands, as sudo does; this makes it known as such:"] + row
    case (.withUsersRights, nil):
      ["without root's rights only screen lockers that are known, and polkit, can ask the phone"]
    case (_, nil):
      ["nobody could watch a session of it; if it runs single commands, as sudo does, this makes it known as such:"]
        + row
    case (.withRootsRights, .some):
      ["it counts as one that opens login sessions; if it runs single commands, as sudo does, this says so:"] + row
    case (_, .some): ["it counts as a service that opens login sessions, and needs no row"]
    }
  }

  private var row: [String] {
    guard service.utf8.allSatisfy(Self.isPlain) else { return ["  \(Self.row(for: service))"] }
    return [
      "  echo 'kind = \(OwnServices.kind)' | install -D -m 644 /dev/stdin \(Self.path(of: service))",
      "  then add \(service) to services, and run iampassctl check",
    ]
  }

  /// Whether the byte needs no quotes in a shell.
  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
      true
    default: false
    }
  }
}
