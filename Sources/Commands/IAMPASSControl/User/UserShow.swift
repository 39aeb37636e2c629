import ArgumentParser
import CommandSupport
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

struct UserShow: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Says whether a user has a token and a phone.")

  @OptionGroup var options: ManagementOptions
  @Flag(help: "Print a JSON object.") var json = false
  @Argument(help: "The user's name.") var user: String

  func run() throws {
    try reportingProblems {
      let host = try ConfiguredHost(options)
      guard let name = UnixUsername(validating: user) else { throw CommandProblem.badUsername(user) }
      let known = try SystemUser.look(for: name)
      let token = try host.token(of: known?.name ?? name)
      let hasPhone = try token.map { (token) throws(CommandProblem) in
        try host.manage(for: known?.name ?? name) { (client, deadline) throws(ServiceError) in
          try client.hasRegisteredMobileDevice(token: token, deadline: deadline)
        }
      }
      show(known?.name ?? name, uid: known?.uid, hasToken: token != nil, hasPhone: hasPhone)
    }
  }

  private func show(_ name: UnixUsername, uid: UInt32?, hasToken: Bool, hasPhone: Bool?) {
    if json {
      return Terminal.say(
        .object([
          "user": .string(name.text), "uid": uid.map { .integer(Int64($0)) }, "token": .bool(hasToken),
          "phone": hasPhone.map { .bool($0) },
        ]))
    }
    Terminal.say("user   \(name)" + (uid.map { " (uid \($0))" } ?? " (not known to this system)"))
    Terminal.say("token  " + (hasToken ? "yes" : "no: iampassctl user add \(name)"))
    if let hasPhone { Terminal.say("phone  " + (hasPhone ? "registered" : "none: iampassctl enroll \(name)")) }
  }
}
