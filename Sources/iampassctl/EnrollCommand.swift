import AdminCommands
import ArgumentParser
import Glibc
import HostState
import IAMPASSClient
import IAMPASSProtocol

struct EnrollCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "enroll", abstract: "Shows the link, and its QR code, by which a user's phone registers, once.",
    discussion: "On a terminal it waits until the phone is there, then offers to try it.")

  @OptionGroup var options: ManagementOptions
  @Option(help: "Have the service send the link by SMS to this number, with country code.") var sms: String?
  @OptionGroup var registration: RegistrationOptions

  func validate() throws {
    guard let sms else { return }
    let digits = sms.dropFirst()
    guard sms.hasPrefix("+"), (7...15).contains(digits.count), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) })
    else { throw ValidationError("--sms takes a number with country code, such as +4915112345678") }
    guard !registration.json, registration.png == nil else {
      throw ValidationError("with --sms the link is not shown here")
    }
  }

  func run() throws {
    try reportingFailures {
      let host = try ConfiguredHost(options)
      let user = try host.enrolled(registration.user)
      let hasPhone = try host.hasPhone(user)
      if hasPhone {
        Terminal.complain("warning: \(user.name) has a phone already, and the service may refuse a second one")
        Terminal.complain("hint: iampassctl lost-device \(user.name), where the first one is gone")
      }
      if let number = sms {
        try sendMessage(to: number, user, host)
      } else {
        let link = try host.manage { (client, deadline) throws(ServiceError) in
          try client.deviceRegistrationLink(
            token: user.token, displayName: registration.displayName ?? user.name.text, deadline: deadline)
        }
        try registration.show(link, for: user.name)
      }
      if registration.waits, !hasPhone { try RegistrationWait(host: host, user: user).run() }
    }
  }

  private func sendMessage(to number: String, _ user: EnrolledUser, _ host: ConfiguredHost) throws(Failure) {
    let message = RegistrationMessageRequest(
      phoneNumber: number, displayName: registration.displayName ?? user.name.text)
    try host.manage { (client, deadline) throws(ServiceError) in
      try client.sendRegistrationSMS(token: user.token, message: message, deadline: deadline)
    }
    Terminal.say("the service sends the link to \(number)")
  }
}

struct LostDeviceCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "lost-device", abstract: "Cuts a user's phone off, and shows the link for a new one.",
    discussion: "The old phone stops working at once, also where no new one ever registers.")

  @OptionGroup var options: ManagementOptions
  @OptionGroup var registration: RegistrationOptions

  func run() throws {
    try reportingFailures {
      let host = try ConfiguredHost(options)
      let user = try host.enrolled(registration.user)
      let link = try host.manage { (client, deadline) throws(ServiceError) in
        try client.lostUserMobileDevice(
          token: user.token, displayName: registration.displayName ?? user.name.text, deadline: deadline)
      }
      if !registration.json { Terminal.say("\(user.name)'s phone is cut off") }
      try registration.show(link, for: user.name)
      if registration.waits { try RegistrationWait(host: host, user: user).run() }
    }
  }
}

struct RegistrationOptions: ParsableArguments {
  @Option(help: "How the phone names the user.") var displayName: String?
  @Option(help: "Also write the QR code as a PNG file of root's alone.", completion: .file()) var png: String?
  @Flag(help: "Do not wait for the phone.") var noWait = false
  @Flag(help: "Print a JSON object, and do not wait.") var json = false
  @Argument(help: "The user's name.") var user: String

  /// Scripts take the link and go on.
  var waits: Bool { !noWait && !json && Terminal.isInteractive }

  func show(_ link: String, for user: UnixUsername) throws(Failure) {
    if let png { try writePicture(of: link, to: png) }
    if json { return Terminal.say(.object(["user": .string(user.text), "register_url": .string(link)])) }
    if let size = Terminal.size, Terminal.showsPictures {
      if let picture = QRPicture(link), picture.fits(columns: size.columns, rows: size.rows) {
        for line in picture.terminalLines() { Terminal.say(line) }
      } else {
        Terminal.say("(this window is too small for the QR code)")
      }
    }
    Terminal.say("Open this link on \(user)'s phone; it works once:")
    Terminal.say(DisplayText.sanitized(link, limit: 2_048))
  }

  private func writePicture(of link: String, to path: String) throws(Failure) {
    guard let picture = QRPicture(link) else { throw .service(.badReply(.member("register_url"))) }
    do { try AtomicFile.write(picture.png(), to: path, mode: 0o600) } catch { throw .file(error) }
  }
}

extension ConfiguredHost {
  func hasPhone(_ user: EnrolledUser) throws(Failure) -> Bool {
    try manage { (client, deadline) throws(ServiceError) in
      try client.hasRegisteredMobileDevice(token: user.token, deadline: deadline)
    }
  }
}
