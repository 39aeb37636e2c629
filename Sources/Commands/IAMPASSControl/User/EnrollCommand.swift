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
    discussion: """
      On a terminal it waits until the phone is there, pins its keys, then offers to try it. With --security-key it \
      registers a key that is plugged in here, for this computer alone. If the users come from the service, an \
      administrator has to approve the link on the phone, and the command does not wait.
      """)

  @OptionGroup var options: ManagementOptions
  @Option(help: "Have the service send the link by SMS to this number, with country code.") var sms: String?
  @Flag(help: "Register a security key instead of a phone.") var securityKey = false
  @OptionGroup var registration: RegistrationOptions

  func validate() throws {
    guard !securityKey || sms == nil && !registration.json && registration.png == nil else {
      throw ValidationError("a security key has no link")
    }
    guard let sms else { return }
    let digits = sms.dropFirst()
    guard sms.hasPrefix("+"), (7...15).contains(digits.count), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) })
    else { throw ValidationError("--sms takes a number with country code, such as +4915112345678") }
    guard !registration.json, registration.png == nil else {
      throw ValidationError("with --sms the link is not shown here")
    }
  }

  func run() throws {
    try reportingProblems {
      if securityKey { return try SecurityKeyRegistration(host: options.host).register(registration.user) }
      let host = try ConfiguredHost(options)
      if host.asksAdministrators { return try enrollListed(host) }
      // A phone that registers for a shared token would sign in each user who has the token.
      let user = try host.enrolledForSignIn(registration.user)
      let picture = try registration.openPicture()
      let hasPhone = try host.hasPhone(user)
      let others = try hasPhone ? host.phones(of: user) : nil
      let mayHaveMore = others.map { $0.phones.count < $0.greatestCount } ?? false
      // A service that does not list a user's phones may allow a second one.
      if let others, !mayHaveMore {
        throw CommandProblem.hasPhones(user.name, others.phones.map { LostPhone.shown($0) })
      }
      if hasPhone { tell(others, user) }
      let waits = registration.waits && (!hasPhone || mayHaveMore)
      // Only a command that waits can check the secret's proof.
      let tellsKeys = try waits && (mayHaveMore || host.tellsKeys(of: user))
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
      let known = mayHaveMore ? others?.phones.map(\.id) ?? [] : []
      try RegistrationWait(host: host, user: user, proof: proof, known: known).run()
    }
  }

  /// Registers a phone for a user on the service's list. An administrator's phone approves the link.
  ///
  /// It does not wait for the user's phone: this computer's credential cannot read its keys.
  private func enrollListed(_ host: ConfiguredHost) throws {
    guard sms == nil, registration.displayName == nil else {
      throw CommandProblem.change(
        .option("--sms and --display-name need the application's credential, by --credentials"))
    }
    let user = try UnixUsername(typed: registration.user)
    let picture = try registration.openPicture()
    guard let link = try UserChangeCall(host: host).run(.enroll, [user]).link else {
      throw CommandProblem.service(.badReply(.member("sealed_register_url")))
    }
    let offer = try host.offer(link, isPinned: false)
    registration.show(offer.text, for: user)
    try registration.draw(offer.text, into: picture)
    registration.hintAtPin(of: user, host)
  }

  /// Prints that the user already has a phone.
  ///
  /// - Parameter others: the user's phones; nil if the service does not list them.
  private func tell(_ others: UserPhonesReply?, _ user: EnrolledUser) {
    if let others {
      let names = others.phones.map { LostPhone.shown($0) }.joined(separator: ", ")
      // This goes to standard error: with --json, standard output is for scripts.
      return Terminal.complain("\(user.name) has a phone (\(names)), and keeps it: this link is for a further one")
    }
    Terminal.complain("warning: \(user.name) has a phone already, and the service may refuse a second one")
    Terminal.complain("hint: iampassctl lost-device \(user.name), where the first one is gone")
  }

  private func sendMessage(to number: String, _ user: EnrolledUser, _ host: ConfiguredHost) throws(CommandProblem) {
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
      all computers of the application, but for the one that this command runs in. A user who has two phones keeps the \
      one that is not named, and what that one approved. With --security-key it removes the user's security keys on \
      this computer instead.
      """)

  @OptionGroup var options: ManagementOptions
  @Option(help: ArgumentHelp("One of the user's two phones: its name, or its id's beginning.", valueName: "name"))
  var phone: String?
  @Flag(help: "Both of the user's two phones.") var allPhones = false
  @Flag(help: "Leave the user's sessions as they are.") var keepSessions = false
  @Flag(help: "Remove the user's security keys, and leave the phone.") var securityKey = false
  @OptionGroup var registration: RegistrationOptions

  func validate() throws {
    guard phone == nil || !allPhones else { throw ValidationError("--phone and --all-phones exclude each other") }
  }

  func run() throws {
    try reportingProblems {
      if securityKey { return try SecurityKeyRegistration(host: options.host).removeAll(registration.user) }
      let host = try ConfiguredHost(options)
      // The lost phone is revoked even if other users have its token too.
      let user = try host.enrolled(registration.user)
      // The phone is revoked only after the picture's file was opened for writing.
      let picture = try registration.openPicture()
      let lost = LostPhone(host: host, user: user)
      let choice = try lost.choice(phone, isAll: allPhones)
      // This comes before the call to the service: even if that fails, the lost phone must not stay trusted here.
      let kept = lost.forgetPins(choice)
      if let listFailure = choice.listFailure {
        if kept == nil { lost.sayForgotten(choice) }
        throw kept ?? listFailure
      }
      let hadPhone = try reachingService(lost, choice, kept) { () throws(CommandProblem) -> Bool? in
        try self.hadPhone(user, host)
      }
      let tellsKeys = try registration.waits && host.tellsKeys(of: user)
      let own = try host.ownSessions()
      let sessions = keepSessions ? nil : LostDeviceSessions(kept: own)
      let done = try reachingService(lost, choice, kept) { () throws(CommandProblem) -> ManagementClient.LostDevice in
        try host.manage(for: user.name) { (client, deadline) throws(ServiceError) in
          try client.lostUserMobileDevice(
            token: user.token, displayName: registration.displayName, sessions: sessions, phone: choice.phone,
            deadline: deadline)
        }
      }
      if !registration.json {
        Terminal.say(hadPhone == false ? "\(user.name) had no phone to cut off" : choice.message(of: user.name))
      }
      tell(done.endedSessions, of: user, isWithinOne: !own.isEmpty)
      let offer = try host.offer(done.link, isPinned: tellsKeys)
      registration.show(offer.text, for: user.name, cutOff: hadPhone, endedSessions: done.endedSessions)
      try registration.draw(offer.text, into: picture)
      if let kept { throw kept }
      guard registration.waits else { return registration.hintAtPin(of: user.name, host) }
      try RegistrationWait(host: host, user: user, proof: offer.proof, known: choice.others).run()
    }
  }

  /// Prints what was done here if the call to the service fails.
  private func reachingService<Answer>(
    _ lost: LostPhone, _ choice: LostPhone.Choice, _ kept: CommandProblem?, _ body: () throws(CommandProblem) -> Answer
  ) throws(CommandProblem) -> Answer {
    do { return try body() } catch {
      if kept == nil, error.isUnreachable { lost.sayForgotten(choice) }
      throw error
    }
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

  /// Whether the user had a phone; nil if the service does not say. The phone is revoked in any case.
  private func hadPhone(_ user: EnrolledUser, _ host: ConfiguredHost) throws(CommandProblem) -> Bool? {
    do throws(CommandProblem) { return try host.hasPhone(user) } catch {
      if error.serviceError != nil { return nil }
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

  /// Whether the command waits for the phone. Scripts take the link and go on.
  var waits: Bool { !noWait && !json && Terminal.isInteractive }

  /// Prints how to pin the phone. Without a wait it is not pinned, and sign-ins that need a pinned phone would not ask
  /// it.
  func hintAtPin(of user: UnixUsername, _ host: ConfiguredHost) {
    guard host.setup.configuration.approvals == .verified else { return }
    Terminal.complain("hint: once the phone is registered: \(ArrivedPhone.comparison(user))")
  }

  /// - Parameters:
  ///   - cutOff: whether the user had a phone that no longer works; nil if none was to be revoked.
  ///   - endedSessions: the number of ended sessions; nil if none were to be ended.
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

  /// Opens the picture's file, for ``draw(_:into:)``; nil if no picture was requested.
  func openPicture() throws(CommandProblem) -> NewFile? {
    guard let png else { return nil }
    var found = stat()
    guard stat(png, &found) != 0 || found.st_mode & S_IFMT == S_IFREG else {
      throw .file(FileError(.notRegular, path: png))
    }
    do { return try NewFile(for: png, mode: 0o600) } catch { throw .file(error) }
  }

  /// Draws the picture. Call it after ``show(_:for:cutOff:)``, so that the link is shown even if the picture fails.
  func draw(_ link: String, into file: NewFile?) throws(CommandProblem) {
    guard let file else { return }
    guard let picture = QRPicture(link) else { throw .service(.badReply(.member("register_url"))) }
    do throws(FileError) {
      try file.write(picture.png())
      try file.takePlace()
    } catch { throw .file(error) }
  }
}

extension ConfiguredHost {
  /// The names at the service of the sessions that this command runs in.
  func ownSessions() throws(CommandProblem) -> [String] {
    do {
      // A record that is removed meanwhile is of a session that is over.
      let records = try setup.ledger.ids().compactMap { try? setup.ledger.read($0) }
      return CommandPlace.current().own(among: records).map(\.nameAtService)
    } catch { throw .records(error) }
  }

  func hasPhone(_ user: EnrolledUser) throws(CommandProblem) -> Bool {
    try manage(for: user.name) { (client, deadline) throws(ServiceError) in
      try client.hasRegisteredMobileDevice(token: user.token, deadline: deadline)
    }
  }
}
