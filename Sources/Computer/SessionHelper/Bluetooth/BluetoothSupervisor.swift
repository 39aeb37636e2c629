import Glibc
import HostState
import HostSystem
import PresenceLink

/// Looks for the phones of users who sit at this computer, has ``BluetoothWatch`` decide, and acts on their sessions.
///
/// It opens and unlocks nothing, and does not tell the service which phones were missed. It does not call off what the
/// ``Supervisor`` has begun. It does not wait: ``turn(at:)`` does what is due. Times are milliseconds after boot,
/// suspended or not.
public final class BluetoothSupervisor {
  /// The time between two looks at the seats' users and the file of bound phones, in ms.
  private static let seatTime: Int64 = 10_000

  private let logind: any Logind
  private let probe: any PhoneProbe
  private let log: any HelperLog
  private let states: PresenceStates
  private let bonds: PhoneBonds
  private let probes: PhoneProbes
  private let acts: SeatActs
  private var file: BoundPhonesFile
  private var setup: SupervisorSetup?
  private var users: [WatchedUser] = []
  /// The states that the helper before this one has left; empty once they were taken over.
  private var former: [UserPresence]
  private var written: [UserPresence]
  private var nextSeats: Int64 = 0

  /// - Parameters:
  ///   - phones: the path of the file of bound phones.
  ///   - bond: reads the bond that BlueZ has with a phone; nil if there is none.
  public init(
    phones: String, run: RunFolder, logind: any Logind, seat: any Seat, probe: any PhoneProbe, log: any HelperLog,
    bond: @escaping (BoundPhone) throws(FileError) -> BondedDevice?
  ) {
    self.logind = logind
    self.probe = probe
    self.log = log
    states = PresenceStates(run: run)
    bonds = PhoneBonds(log: log, read: bond)
    probes = PhoneProbes(probe: probe, bonds: bonds)
    acts = SeatActs(
      leaving: LeavingSessions(run: run), away: AwayLocks(run: run), logind: logind, seat: seat, log: log)
    file = BoundPhonesFile(path: phones)
    do throws(FileError) { former = try states.read() } catch {
      log.write(LOG_WARNING, "phones must answer once again: \(error.explanation)")
      former = []
    }
    written = former
  }

  /// Uses the real probe and BlueZ's files.
  ///
  /// - Parameter configuration: the configuration's path. The file of bound phones is in the same folder.
  convenience init(
    configuration: String, run: RunFolder, logind: any Logind, seat: any Seat, log: any HelperLog
  ) {
    self.init(
      phones: SetupPlace(configuration: configuration).presence, run: run, logind: logind, seat: seat,
      probe: ProbeSocket(), log: log
    ) { (phone) throws(FileError) in try BondedDevice.read(adapter: phone.adapter, address: phone.phone) }
  }

  /// Readable once the probe has answered; negative if no answer is awaited.
  public var descriptor: Int32 { probe.descriptor }

  /// Uses a changed configuration. Actions that have begun go on.
  func adopt(_ setup: SupervisorSetup, at now: Int64) {
    let before = self.setup?.presence
    self.setup = setup
    acts.setup = setup
    bonds.requiresAuthenticatedKeys = setup.requiresAuthenticatedKeys
    nextSeats = now
    guard let policy = setup.presence, policy != before else { return }
    for user in users { user.watch = BluetoothWatch(policy: policy, isArmed: user.watch.isArmed) }
  }

  /// Takes events of logind.
  public func logindTold(_ events: [LogindEvent], at now: Int64) {
    for event in events {
      switch event {
      case .sessionRemoved(let session):
        acts.sessionRemoved(session, now)
        nextSeats = now
      case .preparesForSleep(true): break
      case .preparesForSleep(false): wokeUp(now)
      case .reconnected: nextSeats = now
      }
    }
  }

  /// The computer slept: counting begins again. What was not done yet is called off, because the phone may be back.
  public func wokeUp(_ now: Int64) {
    probes.startOver()
    acts.wokeUp(now)
    for user in users {
      if acts.callOff(user.user) { user.watch.wasCalledOff() }
      user.watch.resume()
      user.isProbing = false
      user.nextProbe = now
    }
  }

  /// Takes the steps that are due.
  ///
  /// - Returns: when the next step is due; nil if only an event can make one due.
  public func turn(at now: Int64) -> Int64? {
    guard let setup else { return nil }
    if let policy = setup.presence {
      if nextSeats <= now { findSeats(policy, now) }
      look(now)
    } else {
      stopProbing()
    }
    acts.turn(now)
    writeStates(now)
    let own = setup.presence == nil ? [] : [nextSeats] + users.filter { !$0.isProbing }.map(\.nextProbe)
    return (own + [probes.due, acts.due].compactMap { $0 }).min()
  }

  // MARK: Who sits here

  private func findSeats(_ policy: PresencePolicy, _ now: Int64) {
    nextSeats = now + Self.seatTime
    // Until the file can be read, the former states stay: a phone that had answered is not forgotten.
    guard let bound = file.current(log) else { return }
    let phones = Dictionary(grouping: bound, by: \.user)
    let seated: Set<UnixUsername>
    do throws(LogindError) {
      seated = phones.isEmpty ? [] : Set(try SeatSessions.of(Set(phones.keys), logind).keys)
    } catch {
      // The users at the seats stay the same until logind answers.
      return
    }
    for user in users where !seated.contains(user.user) || phones[user.user] != user.phones { drop(user) }
    for (name, phones) in phones where seated.contains(name) && !users.contains(where: { $0.user == name }) {
      add(name, phones, policy, now)
    }
    former = []
    if users.isEmpty { probe.rest() }
  }

  private func add(_ name: UnixUsername, _ phones: [BoundPhone], _ policy: PresencePolicy, _ now: Int64) {
    let before = former.first { $0.user == name }
    let wasArmed = before?.state == .armed || before?.state == .doubtful
    users.append(
      WatchedUser(
        name, phones, BluetoothWatch(policy: policy, isArmed: wasArmed),
        since: wasArmed ? before.map { $0.since * 1_000 } ?? now : now, now: now))
    users.sort { $0.user.text < $1.user.text }
  }

  private func drop(_ user: WatchedUser) {
    probes.forget(user.user)
    acts.callOff(user.user)
    users.removeAll { $0 === user }
  }

  private func stopProbing() {
    former = []
    guard !users.isEmpty else { return }
    for user in users { drop(user) }
    probes.startOver()
  }

  // MARK: Looking and concluding

  private func look(_ now: Int64) {
    for user in users where !user.isProbing && user.nextProbe <= now {
      user.isProbing = true
      probes.begin(user.user, user.phones)
    }
    for found in probes.turn(at: now) {
      guard let user = users.first(where: { $0.user == found.user }) else { continue }
      take(found, user, now)
    }
  }

  private func take(_ found: PhoneProbes.Found, _ user: WatchedUser, _ now: Int64) {
    let before = user.watch.phase
    let events = user.watch.look(found.answers, ended: now)
    user.isProbing = false
    user.nextProbe = user.watch.nextProbe(began: found.began, ended: now)
    for event in events { carryOut(event, user, before, now) }
  }

  private func carryOut(_ event: PresenceEvent, _ user: WatchedUser, _ before: BluetoothWatch.Phase, _ now: Int64) {
    switch event {
    case .found:
      acts.callOff(user.user)
      say(before == .doubtful ? LOG_DEBUG : LOG_NOTICE, "armed", user)
    case .doubted: say(LOG_DEBUG, "doubtful", user)
    case .warned(let milliseconds): acts.warn(user.user, of: .presence, milliseconds: milliseconds)
    case .warnedOfBlindness(let milliseconds): acts.warn(user.user, of: .presenceUnknown, milliseconds: milliseconds)
    case .left:
      say(LOG_NOTICE, "left", user)
      acts.begin(user.user, .presence, now)
    case .blinded:
      say(LOG_WARNING, "blind", user)
      acts.begin(user.user, .presenceUnknown, now)
    }
  }

  private func say(_ priority: Int32, _ state: String, _ user: WatchedUser) {
    let last = user.watch.last.map { ", the last look found: \($0.description)" } ?? ""
    log.write(priority, "presence \(LogField.text("user", user.user.text)): \(state)\(last)")
  }

  // MARK: What others read

  /// A lock or logout that is under way is not written as done: if this helper ends before, the next one counts again.
  private func writeStates(_ now: Int64) {
    for user in users { user.datePhase(now) }
    let current = users.map { user in
      UserPresence(
        user: user.user, state: acts.isBusy(user.user) ? .doubtful : .init(user.watch.phase), since: user.since / 1_000)
    }
    // The former states stay until the users at the seats are known.
    guard former.isEmpty, current != written else { return }
    written = current
    do throws(FileError) { try states.write(current) } catch {
      log.write(LOG_WARNING, "presence is not noted: \(error.explanation)")
    }
  }
}
