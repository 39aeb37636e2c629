import HostState
import Testing

@testable import HostState
@testable import HostSystem
@testable import PresenceLink
@testable import SessionHelper

/// A computer at whose seats users with phones sit. Time is a number.
final class PresenceFixture {
  static let adapter = BluetoothAddress("00:AA:01:00:00:42")!
  static let hers = BluetoothAddress("00:AA:01:01:00:01")!
  static let hersToo = BluetoothAddress("00:AA:01:01:00:02")!
  static let his = BluetoothAddress("00:AA:01:01:00:03")!

  let folder: ScratchFolder
  let run: RunFolder
  let logind = TestLogind()
  let seat = TestSeat()
  let log = TestLog()
  let probe = PocketProbe()
  private(set) var supervisor: BluetoothSupervisor
  private(set) var now: Int64 = 1_000_000
  /// What BlueZ has.
  private let bonds = Bonds()
  private var setup: SupervisorSetup
  private let hostSetup: HostSetup
  private let me: ProcessIdentity

  /// Alice sits here with her phone, unless something else is said.
  init(bound: [(String, BluetoothAddress)] = [("alice", hers)], _ change: (inout Configuration) -> Void = { _ in })
    throws
  {
    folder = try ScratchFolder()
    run = RunFolder(path: folder.path + "/run")
    _ = try run.folder("sessions")
    me = try #require(ProcessIdentity.current())
    hostSetup = try HostSetup(path: folder.write("iampass.conf", "server = https://localhost\n"))
    setup = try Self.setup(hostSetup, change)
    supervisor = Self.supervisor(folder, run, logind, seat, probe, log, bonds)
    for (_, phone) in bound { pair(phone) }
    try bind(bound)
    supervisor.adopt(setup, at: now)
  }

  private static func setup(_ host: HostSetup, _ change: (inout Configuration) -> Void) throws -> SupervisorSetup {
    var configuration = host.configuration
    configuration.presence = .bluetooth
    change(&configuration)
    return try SupervisorSetup(host, configuration)
  }

  private static func supervisor(
    _ folder: ScratchFolder, _ run: RunFolder, _ logind: TestLogind, _ seat: TestSeat, _ probe: PocketProbe,
    _ log: TestLog, _ bonds: Bonds
  ) -> BluetoothSupervisor {
    BluetoothSupervisor(
      phones: folder.path + "/presence", run: run, logind: logind, seat: seat, probe: probe, log: log
    ) { (phone) throws(FileError) in bonds.devices[phone.phone] }
  }

  /// The helper is killed, and another one starts.
  func restart() {
    probe.rest()
    supervisor = Self.supervisor(folder, run, logind, seat, probe, log, bonds)
    supervisor.adopt(setup, at: now)
  }

  func configure(_ change: (inout Configuration) -> Void) throws {
    setup = try Self.setup(hostSetup, change)
    supervisor.adopt(setup, at: now)
  }

  // MARK: Phones

  /// The pairing with this phone, as BlueZ writes it.
  func pair(_ phone: BluetoothAddress, key: Character = "a", type: Int = 8) {
    let text = "[General]\nName=Phone\n[LinkKey]\nKey=\(String(repeating: key, count: 32))\nType=\(type)\n"
    bonds.devices[phone] = BondedDevice(adapter: Self.adapter, address: phone, parsing: Array(text.utf8))
  }

  func unpair(_ phone: BluetoothAddress) { bonds.devices[phone] = nil }

  func bind(_ bound: [(String, BluetoothAddress)]) throws {
    let lines = try bound.map { user, phone in
      "\(user) \(Self.adapter) \(phone) \(try #require(bonds.devices[phone]).keyDigest)\n"
    }
    try AtomicFile.write(Array(lines.joined().utf8), to: folder.path + "/presence", mode: 0o600)
  }

  // MARK: Sessions

  func sit(
    _ uid: UInt32 = 1_000, session: String = "1", type: String = "wayland", seat: String = "seat0",
    isRemote: Bool = false, service: String = ""
  ) {
    logind.sessions[session] = LogindSession(
      id: session, leader: me.pid, uid: uid, sessionClass: "user", type: type, isRemote: isRemote, seat: seat,
      scope: "session-\(session).scope", service: service)
  }

  /// Lets time pass.
  func pass(seconds: Int64, milliseconds: Int64 = 0) {
    let end = now + seconds * 1_000 + milliseconds
    while true {
      probe.now = now
      let due = min(supervisor.turn(at: now) ?? .max, probe.ready ?? .max)
      supervisor.logindTold(logind.takeEvents(), at: now)
      guard now < end else { return }
      now = min(max(due, now + 1), end)
    }
  }

  /// The machine sleeps.
  func sleep(seconds: Int64) {
    now += seconds * 1_000
    supervisor.wokeUp(now)
  }

  func state(of user: String = "alice") throws -> UserPresence.State? {
    try PresenceStates(run: run).read().first { $0.user.text == user }?.state
  }

  private final class Bonds { var devices: [BluetoothAddress: BondedDevice] = [:] }
}

/// A probe that finds what is in users' pockets, and takes as long as a real one.
final class PocketProbe: PhoneProbe {
  /// What is found; unlisted phones are silent. Nil stands for a probe that does not answer.
  var finds: (BluetoothAddress) -> ProbeAnswer? = { _ in .near }
  /// Asked for, with the time.
  private(set) var asked: [(phone: BluetoothAddress, level: ProbeRequest.Level, at: Int64)] = []
  /// Questions that came while another one was under way.
  private(set) var overlaps = 0
  private(set) var ready: Int64?
  /// Called as a look begins.
  var onAsk: () -> Void = {}
  var now: Int64 = 0
  private var question: BluetoothAddress?

  var descriptor: Int32 { -1 }
  var deadline: Int64? { ready.map { max($0, now) } }

  func ask(_ request: ProbeRequest, at now: Int64) {
    if question != nil { overlaps += 1 }
    asked.append((request.phone, request.level, now))
    question = request.phone
    onAsk()
    switch finds(request.phone) {
    case .near?: ready = now + 30
    case .impostor?, .unknown?: ready = now + 200
    case .silent?: ready = now + 5_100
    case nil: ready = now + 25_000
    }
  }

  func answer(at now: Int64) -> ProbeAnswer? {
    guard let question, let ready, ready <= now else { return nil }
    rest()
    return finds(question) ?? .unknown("no-answer")
  }

  func rest() { (question, ready) = (nil, nil) }

  /// When this phone was asked for.
  func times(_ phone: BluetoothAddress) -> [Int64] { asked.filter { $0.phone == phone }.map(\.at) }
}
