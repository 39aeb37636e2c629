import ArgumentParser
import CommandSupport
import HostState
import HostSystem
import IAMPASSProtocol
import PresenceLink

struct PresenceTest: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "test", abstract: "Looks for phones again and again, and shows what is found, until Ctrl-C.",
    discussion: """
      A line a look: the time, the phone, whose it is, what was found, and how long the look took. Locks nothing. \
      With an ADDRESS it looks for that paired device, bound or not.
      """)

  /// The time between two rounds, in milliseconds. The probe does not look for a phone again within 2.5 s.
  private static let pause: Int64 = 3_000

  @OptionGroup var options: PresenceOptions
  @Option(help: "End after this number of rounds, with 0.") var count: Int?
  @Flag(help: "Print a JSON object a line.") var json = false
  @Argument(help: "The device's Bluetooth address.") var address: String?

  func validate() throws {
    if let count, !(1...1_000_000).contains(count) { throw ValidationError("--count takes a number from 1 to 1000000") }
  }

  func run() throws {
    try reportingProblems {
      try requireRoot()
      let files = PresenceFiles(options)
      let interrupt = Interrupt()
      let phones = try wanted(files)
      var round = 0
      while Terminal.outputError == nil {
        for phone in phones { say(phone, try look(phone, files, interrupt)) }
        round += 1
        if round == count { return }
        guard interrupt.wait(milliseconds: Self.pause) != .interrupted else { throw CommandProblem.interrupted }
      }
    }
  }

  private func wanted(_ files: PresenceFiles) throws(CommandProblem) -> [LookedForPhone] {
    let bound = try files.bound().map { LookedForPhone($0) }
    guard let text = address else {
      guard !bound.isEmpty else { throw .presence(.nothingBound) }
      return bound
    }
    let address = try BluetoothAddress(argument: text)
    let known = bound.filter { $0.phone == address }
    if !known.isEmpty { return known }
    let bonds = try files.bonds().filter { $0.address == address }
    guard !bonds.isEmpty else { throw .presence(.notBonded(address)) }
    return bonds.map { LookedForPhone($0) }
  }

  /// Looks for the phone, unless its bond has changed. The helper does the same.
  private func look(
    _ phone: LookedForPhone, _ files: PresenceFiles, _ interrupt: Interrupt
  ) throws(CommandProblem) -> ProbeReply {
    let device = try files.bond(adapter: phone.adapter, phone: phone.phone)
    if let ignorance = BondState(pinned: phone.keyDigest, device).ignorance {
      return ProbeReply(phone: phone.phone, answer: ignorance, milliseconds: 0)
    }
    let request = ProbeRequest(adapter: phone.adapter, phone: phone.phone, level: .medium)
    return try ProbeCall(path: options.probe, interrupt: interrupt).look(request)
  }

  private func say(_ phone: LookedForPhone, _ reply: ProbeReply) {
    if json {
      return Terminal.say(
        .object([
          "address": .string("\(phone.phone)"), "user": phone.user.map { .string($0.text) },
          "answer": .string(reply.answer.name), "reason": reply.answer.reason.map { .string($0) },
          "milliseconds": .integer(reply.milliseconds),
        ]))
    }
    let reason = reply.answer.reason.map { " (\($0))" } ?? ""
    Terminal.say(
      "\(ClockTime.now())  \(phone.phone)  \(phone.user?.text ?? "-")  \(reply.answer.name)\(reason)  \(reply.milliseconds) ms"
    )
  }
}

/// A bound phone, or a bonded device that is not bound.
private struct LookedForPhone {
  let user: UnixUsername?
  let adapter: BluetoothAddress
  let phone: BluetoothAddress
  let keyDigest: String

  init(_ bound: BoundPhone) {
    (user, adapter, phone, keyDigest) = (bound.user, bound.adapter, bound.phone, bound.keyDigest)
  }

  init(_ device: BondedDevice) {
    (user, adapter, phone, keyDigest) = (nil, device.adapter, device.address, device.keyDigest)
  }
}

extension ProbeAnswer {
  var name: String {
    switch self {
    case .near: "near"
    case .silent: "silent"
    case .impostor: "impostor"
    case .unknown: "unknown"
    }
  }

  /// Why the phone's presence is not known.
  var reason: String? {
    if case .unknown(let reason) = self { return reason }
    return nil
  }
}
