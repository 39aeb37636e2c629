import ArgumentParser
import CommandSupport
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import PresenceLink

struct PresenceUse: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "use", abstract: "Binds a paired phone to a user, who approves it on their phone.",
    discussion: "The key of the pairing is pinned: a phone that is paired again must be bound again.")

  @OptionGroup var options: PresenceOptions
  @Option(help: "The user whose phone it is.") var user: String
  @Option(help: "The address of the adapter, if the phone is paired with several.") var adapter: String?
  @Argument(help: "The phone's Bluetooth address.") var address: String

  func run() throws {
    try reportingProblems {
      try requireRoot()
      let files = PresenceFiles(options)
      let device = try device(files)
      let host = try ConfiguredHost(path: options.host.path, credentials: nil)
      let configuration = host.setup.configuration
      guard device.isAuthenticated || configuration.presenceKey == .any else {
        throw CommandProblem.presence(.keyNotAuthenticated(device.address))
      }
      let user = try host.enrolledForSignIn(user)
      try requireUnbound(device.address, to: user.name, files)
      try requireNear(device, host.interrupt)
      try askUser(user, host)
      try bind(device, to: user.name, files)
      HelperUnit.reload()
      Terminal.say("\(user.name): bound to \(device.address)")
      if configuration.presence == .off { warnOfOff(path: options.host.path) }
    }
  }

  private func warnOfOff(path: String) {
    Terminal.complain("iampassctl: presence is off: the helper does not look for this phone yet")
    Terminal.complain("hint: write presence = bluetooth into \(path)")
  }

  private func device(_ files: PresenceFiles) throws(CommandProblem) -> BondedDevice {
    let phone = try BluetoothAddress(argument: address)
    let adapter = try adapter.map { (text) throws(CommandProblem) in try BluetoothAddress(argument: text) }
    let bonds = try files.bonds().filter { $0.address == phone && (adapter == nil || $0.adapter == adapter) }
    guard let device = bonds.first else { throw .presence(.notBonded(phone)) }
    guard bonds.count == 1 else { throw .presence(.severalAdapters(phone)) }
    return device
  }

  private func requireUnbound(
    _ phone: BluetoothAddress, to user: UnixUsername, _ files: PresenceFiles
  ) throws(CommandProblem) {
    guard let other = try files.bound().first(where: { $0.phone == phone && $0.user != user }) else { return }
    throw .presence(.boundToAnother(phone, other.user))
  }

  private func requireNear(_ device: BondedDevice, _ interrupt: Interrupt) throws(CommandProblem) {
    let request = ProbeRequest(adapter: device.adapter, phone: device.address, level: .medium)
    let reply = try ProbeCall(path: options.probe, interrupt: interrupt).look(request)
    guard reply.answer == .near else {
      throw .presence(.notNear(device.address, reply.answer, adapter: device.adapter))
    }
  }

  /// Asks the user's phone, which shows the request's purpose. The session of the approval is ended at once.
  private func askUser(_ user: EnrolledUser, _ host: ConfiguredHost) throws(CommandProblem) {
    let configuration = host.setup.configuration
    let context = SignInContext(
      host: RecordedSessions.hostName(), service: "presence: look for this phone", user: user.name.text, tty: nil,
      remoteHost: nil)
    let question = PhoneQuestion(
      host: host, user: user, duration: configuration.sessionDuration,
      context: configuration.sendContext == .no ? nil : context)
    let active = try question.approval("approve on the phone that the computer looks for it")
    question.end(active.remote)
  }

  /// Binds the phone. Its key is pinned only if it is still the one with which the phone was found.
  private func bind(_ device: BondedDevice, to user: UnixUsername, _ files: PresenceFiles) throws(CommandProblem) {
    let lock = try AdminLock(folder: options.host.folder)
    defer { withExtendedLifetime(lock) {} }
    try requireUnbound(device.address, to: user, files)
    let phone = BoundPhone(
      user: user, adapter: device.adapter, phone: device.address, keyDigest: device.keyDigest)
    guard try files.bond(adapter: phone.adapter, phone: phone.phone)?.keyDigest == device.keyDigest else {
      throw .presence(.keyChanged(device.address))
    }
    do { try BoundPhonesEditor.bind(phone, inFile: files.boundPath) } catch { throw files.failure(error) }
  }
}
