import ArgumentParser
import CommandSupport
import Glibc
import HostDoctor
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import QRCodes

struct EnrollCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "enroll", abstract: "Shows the link, and its QR code, by which a user's phone registers, once.",
    discussion: "On a terminal it waits until the phone is there, pins its keys, then offers to try it.")

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
      // A phone that registers for a shared token would sign in as each user who has the token.
      let user = try host.enrolledForSignIn(registration.user)
      let picture = try registration.openPicture()
      let hasPhone = try host.hasPhone(user)
      if hasPhone {
        Terminal.complain("warning: \(user.name) has a phone already, and the service may refuse a second one")
        Terminal.complain("hint: iampassctl lost-device \(user.name), where the first one is gone")
      }
      let waits = registration.waits && !hasPhone
      // Only a command that waits can check what the secret proves.
      let tellsKeys = try waits && host.tellsKeys(of: user)
      let proof: KeyProof
      if let number = sms {
        try sendMessage(to: number, user, host)
        proof = tellsKeys ? .words : .untold
      } else {
        let link = try host.manage(for: user.name) { (client, deadline) throws(ServiceError) in
          try client.deviceRegistrationLink(
            token: user.token, displayName: registration.displayName ?? user.name.text, deadline: deadline)
        }
        let offer = try host.offer(link, isPinned: tellsKeys)
        registration.show(offer.text, for: user.name)
        try registration.draw(offer.text, into: picture)
        proof = offer.proof
      }
      guard waits else { return registration.hintAtPin(of: user.name, host) }
      try RegistrationWait(host: host, user: user, proof: proof).run()
    }
  }

  private func sendMessage(to number: String, _ user: EnrolledUser, _ host: ConfiguredHost) throws(Failure) {
    let message = RegistrationMessageRequest(
      phoneNumber: number, displayName: registration.displayName ?? user.name.text)
    try host.manage(for: user.name) { (client, deadline) throws(ServiceError) in
      try client.sendRegistrationSMS(token: user.token, message: message, deadline: deadline)
    }
    Terminal.say("the service sends the link to \(number)")
  }
}

struct LostDeviceCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "lost-device", abstract: "Cuts a user's phone off, and shows the link for a new one.",
    discussion: """
      The old phone stops working at once, also where no new one ever registers. The user's sessions are ended, on \
      all computers of the application, but for the one that this command runs in.
      """)

  @OptionGroup var options: ManagementOptions
  @Flag(help: "Leave the user's sessions as they are.") var keepSessions = false
  @OptionGroup var registration: RegistrationOptions

  func run() throws {
    try reportingFailures {
      let host = try ConfiguredHost(options)
      // The lost phone is cut off even if other users have its token too.
      let user = try host.enrolled(registration.user)
      // A phone is not cut off before the picture's file is known to be one that can be written.
      let picture = try registration.openPicture()
      // Before the service is asked: a broken one, or none, must not keep a lost phone trusted here.
      let kept = forgetPins(of: user, host)
      let hadPhone = try hadPhone(user, host)
      let tellsKeys = try registration.waits && host.tellsKeys(of: user)
      let own = try host.ownSessions()
      let sessions = keepSessions ? nil : LostDeviceSessions(kept: own)
      let lost = try host.manage(for: user.name) { (client, deadline) throws(ServiceError) in
        try client.lostUserMobileDevice(
          token: user.token, displayName: registration.displayName, sessions: sessions, deadline: deadline)
      }
      if !registration.json {
        Terminal.say(hadPhone == false ? "\(user.name) had no phone to cut off" : "\(user.name)'s phone is cut off")
      }
      tell(lost.endedSessions, of: user, isWithinOne: !own.isEmpty)
      let offer = try host.offer(lost.link, isPinned: tellsKeys)
      registration.show(offer.text, for: user.name, cutOff: hadPhone, endedSessions: lost.endedSessions)
      try registration.draw(offer.text, into: picture)
      if let kept { throw kept }
      guard registration.waits else { return registration.hintAtPin(of: user.name, host) }
      try RegistrationWait(host: host, user: user, proof: offer.proof).run()
    }
  }

  /// The lost phone signs nobody in here any more, whatever the service says; nor another user who has the same token.
  ///
  /// - Returns: why some phone may still be pinned. The new phone's link is shown all the same.
  private func forgetPins(of user: EnrolledUser, _ host: ConfiguredHost) -> Failure? {
    do throws(Failure) {
      let names = try host.usersFile { () throws(UserTokensError) in
        try UserTokens(path: host.usersPath).users(having: user.token)
      }
      for name in names.compactMap({ UnixUsername(validating: $0) }) { try host.pins.forget(name) }
      return nil
    } catch { return error }
  }

  private func tell(_ ended: Int64?, of user: EnrolledUser, isWithinOne: Bool) {
    guard !keepSessions else { return }
    guard let ended else {
      Terminal.complain("warning: the service has not ended what the phone approved")
      return Terminal.complain("hint: iampassctl session list, and session end ID, on each computer")
    }
    guard !registration.json else { return }
    Terminal.say(
      "\(Words.counted(Int(ended), "session")) of \(user.name) ended"
        + (isWithinOne ? "; the one that this command runs in goes on" : ""))
  }

  /// Nil where the service answers, and does not say: that keeps no phone from being cut off.
  private func hadPhone(_ user: EnrolledUser, _ host: ConfiguredHost) throws(Failure) -> Bool? {
    do throws(Failure) { return try host.hasPhone(user) } catch {
      if case .service = error { return nil }
      throw error
    }
  }
}

struct RegistrationOptions: ParsableArguments {
  @Option(help: "How the phone names the user.") var displayName: String?
  @Option(help: "Also write the QR code as a PNG file of root's alone.", completion: .file()) var png: String?
  @Flag(help: "Do not wait for the phone, so that it is not pinned.") var noWait = false
  @Flag(help: "Print a JSON object, and do not wait.") var json = false
  @Argument(help: "The user's name.") var user: String

  /// Scripts take the link and go on.
  var waits: Bool { !noWait && !json && Terminal.isInteractive }

  /// Without a wait the phone is not pinned, and a sign-in that needs a pinned phone would not ask it.
  func hintAtPin(of user: UnixUsername, _ host: ConfiguredHost) {
    guard host.setup.configuration.approvals == .verified else { return }
    Terminal.complain("hint: once the phone is registered: \(ArrivedPhone.comparison(user))")
  }

  /// - Parameters:
  ///   - cutOff: whether the user had a phone that no longer works, where that was asked for.
  ///   - endedSessions: how many, where that was asked for and done.
  func show(_ link: String, for user: UnixUsername, cutOff: Bool? = nil, endedSessions: Int64? = nil) {
    if json {
      return Terminal.say(
        .object([
          "user": .string(user.text), "register_url": .string(link), "phone_cut_off": cutOff.map { .bool($0) },
          "sessions_ended": endedSessions.map { .integer($0) },
        ]))
    }
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

  /// The picture's file, for ``draw(_:into:)``; nil where none is asked for.
  func openPicture() throws(Failure) -> NewFile? {
    guard let png else { return nil }
    var found = stat()
    guard stat(png, &found) != 0 || found.st_mode & S_IFMT == S_IFREG else {
      throw .file(FileError(.notRegular, path: png))
    }
    do { return try NewFile(for: png, mode: 0o600) } catch { throw .file(error) }
  }

  /// After ``show(_:for:cutOff:)``: the link is there also where the picture fails.
  func draw(_ link: String, into file: NewFile?) throws(Failure) {
    guard let file else { return }
    guard let picture = QRPicture(link) else { throw .service(.badReply(.member("register_url"))) }
    do throws(FileError) {
      try file.write(picture.png())
      try file.takePlace()
    } catch { throw .file(error) }
  }
}

extension ConfiguredHost {
  /// What the service calls the sessions that this command runs in.
  func ownSessions() throws(Failure) -> [String] {
    do {
      // A record that goes while we look is of a session that is over.
      let records = try setup.ledger.ids().compactMap { try? setup.ledger.read($0) }
      return CommandPlace.current().own(among: records).map(\.nameAtService)
    } catch { throw .records(error) }
  }

  func hasPhone(_ user: EnrolledUser) throws(Failure) -> Bool {
    try manage(for: user.name) { (client, deadline) throws(ServiceError) in
      try client.hasRegisteredMobileDevice(token: user.token, deadline: deadline)
    }
  }
}
