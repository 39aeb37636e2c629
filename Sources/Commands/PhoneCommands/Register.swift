import ArgumentParser
import CommandSupport
import IAMPASSPhone
import IAMPASSProtocol
import WorkerLink

struct Register: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Register this phone for the user of the link.")

  @Argument(help: "The registration link from the administrator.")
  var link: String

  @OptionGroup var options: StateOption

  @Option(
    help: ArgumentHelp("PEM certificates to trust instead of the system's.", valueName: "file"),
    completion: .file())
  var ca: String?

  @Option(help: "What its user calls this phone, to tell it from another phone of theirs.")
  var name: String?

  @Flag(help: "Replace the phone in the state file.")
  var force = false

  func run() throws {
    let link = try parsedLink()
    let file = StateFile(path: options.state)
    guard force || !file.exists else { throw CommandProblem.registeredAlready(options.state) }
    let authority = try ca.map { (path) throws(CommandProblem) in
      guard let bundle = CertificateBundle(pem: try FileText.read(authority: path)) else {
        throw .authorityNotReadable(path, "it does not contain a certificate")
      }
      return bundle
    }
    let transport = WorkerTransport.ofPhone(
      to: link.server, authority: authority, worker: options.worker, interrupt: Interrupt.ofPhone())
    let registration = PhoneRegistration(
      link: link, transport: transport, authority: authority.map { String(decoding: $0.pem, as: UTF8.self) })
    try explaining {
      let registering = RegistrationFile(state: file, link: link)
      // The service does not show a link that was used, as by an earlier command whose reply was lost.
      let shown = registering.isBegun ? nil : try registration.look()
      let account = try registration.register(in: registering, name: name).account
      PhoneTerminal.say(
        "registered: this is now the phone of \(DisplayText.sanitized(shown?.user ?? account.user)) "
          + "for \(DisplayText.sanitized(shown?.application ?? account.application))")
    }
  }

  private func parsedLink() throws(CommandProblem) -> RegistrationLink {
    do { return try RegistrationLink(link) } catch { throw CommandProblem(error) }
  }
}
