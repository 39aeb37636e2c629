import IAMPASSProtocol
import Synchronization

/// The only source of the service's time.
///
/// Deadlines and ages are in *service time*. It looks like Unix time, but follows the computer's boot clock from a
/// point in the database. So a step of the wall clock, forward or back, does not end, prolong or delete anything.
/// Another storage may have another clock, such as a database server's own: see ``follow(_:settingClocks:)``.
///
/// The boot clock does not measure the time between two boots, or a move of the database to another computer. Only the
/// wall clock does, and just after a boot it may be wrong. So service time continues from its last known value. It
/// makes up for the gap as soon as a computer's signed request confirms the wall clock.
///
/// A virtual machine that is paused or restored from a snapshot loses that time: its boot clock stands still, and the
/// kernel does not say so. The wall clock's jump looks the same as one that a person made. So sessions last longer by
/// the pause, but computers end them at their own expiry.
///
/// For people, the database also has the difference between service time and confirmed Unix time.
public final class StorageClock: Sendable {
  /// The stored state: service time at a point of one boot, and the data that belongs to it.
  struct Anchor: Sendable, Equatable {
    var bootID: String?
    /// The point in milliseconds after boot.
    var sinceBoot: Int64
    /// Service time at that point.
    var time: UnixTime
    /// Unix time at that point, as last confirmed.
    var unixTime: UnixTime
    /// Whether the time before this boot was made up for.
    var isSettled: Bool

    /// How far Unix time is ahead of service time, in milliseconds.
    fileprivate var offset: Int64 { unixTime.milliseconds(since: time) }

    /// How far service time is ahead of the boot clock, in milliseconds.
    fileprivate var lead: Int64 { time.milliseconds - sinceBoot }

    /// Service time at a point of this boot. It goes back with a clock that is set back.
    fileprivate func time(at sinceBoot: Int64) -> UnixTime { UnixTime(milliseconds: sinceBoot + lead) }

    /// The same anchor at a later service time.
    fileprivate func advanced(to time: UnixTime) -> Anchor {
      var anchor = self
      let passed = time.milliseconds(since: self.time)
      anchor.sinceBoot += passed
      anchor.time = time
      anchor.unixTime = anchor.unixTime.advanced(milliseconds: passed)
      return anchor
    }

    /// An anchor at this point of the boot clock, with the same offset.
    fileprivate func moved(to time: UnixTime, at sinceBoot: Int64) -> Anchor {
      var anchor = advanced(to: time)
      anchor.sinceBoot = sinceBoot
      return anchor
    }
  }

  fileprivate struct State {
    var anchor: Anchor
    /// The last service time that was returned. Time does not go back if a database's clock does.
    var last: UnixTime
    /// The number of confirmations, and how many of them are stored.
    var confirmations: (made: Int, stored: Int) = (0, 0)
    /// Whether a server must store another anchor.
    var isAstray = false
    /// The ``Anchor/lead`` of the stored anchor that ``anchor`` must replace, until it is replaced.
    var wrongLead: Int64?

    /// The anchor at this point of the boot clock.
    mutating func current(at sinceBoot: Int64) -> Anchor {
      last = max(last, anchor.time(at: sinceBoot))
      return anchor.advanced(to: last)
    }
  }

  /// How far the wall clock may drift before the times for people follow it, in milliseconds. A reader who looks twice
  /// should see the same times.
  private static let tolerance: Int64 = 2_000

  /// How long after a boot a client on this computer does not confirm the wall clock, in milliseconds. Both use the
  /// same clock, which may be wrong until the network has set it.
  static let ownTime: Int64 = 900_000

  /// The greatest step of a database's clock that service time goes along with, in milliseconds.
  static let greatestStep: Int64 = 60_000

  private let clocks: MachineClocks
  private let state: Mutex<State>

  /// - Parameter stored: the database's anchor; nil for a database without one, whose times are by the wall clock.
  init(_ clocks: MachineClocks, stored: Anchor?) {
    self.clocks = clocks
    let wall = clocks.wall()
    let sinceBoot = clocks.sinceBoot()
    let bootID = clocks.bootID()
    var anchor =
      stored ?? Anchor(bootID: bootID, sinceBoot: sinceBoot, time: wall, unixTime: wall, isSettled: false)
    // Within one boot, a time namespace (time_namespaces(7)) can have a boot clock that is behind the stored one. If a
    // database's clock is behind, the anchor is still right for all servers.
    if bootID == nil || anchor.bootID != bootID || (sinceBoot < anchor.sinceBoot && !clocks.mayStep) {
      anchor.bootID = bootID
      anchor.sinceBoot = sinceBoot
      anchor.isSettled = false
    }
    state = Mutex(State(anchor: anchor, last: anchor.time))
  }

  /// Service time.
  func now() -> UnixTime { anchor.time }

  /// The wall clock's time, which may be wrong. It is compared with the clocks of others.
  func wall() -> UnixTime { clocks.wall() }

  /// Whether the clock is a database's, which several servers share: see ``follow(_:settingClocks:)``.
  var isShared: Bool { clocks.mayStep }

  /// Milliseconds for which service time stands still, because a database's clock was set back. Deadlines do not come
  /// meanwhile.
  func standstill() -> Int64 {
    state.withLock { state in
      let sinceBoot = clocks.sinceBoot()
      return state.current(at: sinceBoot).time.milliseconds(since: state.anchor.time(at: sinceBoot))
    }
  }

  /// Confirmed Unix time, for people and for other systems.
  func unixTime(of time: UnixTime) -> UnixTime { time.advanced(milliseconds: state.withLock(\.anchor.offset)) }

  /// The state to store now.
  var anchor: Anchor { state.withLock { $0.current(at: clocks.sinceBoot()) } }

  /// Notes that a computer's clock agrees with the wall clock, by its signed request.
  ///
  /// A database's clock that was confirmed before must agree closer than a request has to. A failover may have set it back
  /// further than ``greatestStep``: the confirmed time then says where service time goes on if it is right again.
  ///
  /// - Parameters:
  ///   - stamp: the request's time stamp, in seconds.
  ///   - isOwn: whether the request came from this computer.
  /// - Returns: whether there is a new state to store.
  func confirm(by stamp: Int64, isOwn: @autoclosure () -> Bool = false) -> Bool {
    let wall = clocks.wall()
    if clocks.sinceBoot() < Self.ownTime, isOwn() { return false }
    let difference = (wall.seconds - stamp).magnitude
    guard difference <= RequestSigner.clockWindow else { return false }
    return state.withLock { state in
      var anchor = state.current(at: clocks.sinceBoot())
      guard !isShared || !anchor.isSettled || difference <= Self.greatestStep / 1_000 else { return false }
      let ahead = wall.milliseconds(since: anchor.unixTime)
      guard !anchor.isSettled || ahead.magnitude >= Self.tolerance else { return false }
      // The service did not run for this time.
      if !anchor.isSettled, ahead > 0 { anchor.time = anchor.time.advanced(milliseconds: ahead) }
      anchor.unixTime = wall
      anchor.isSettled = true
      state.anchor = anchor
      state.last = anchor.time
      state.confirmations.made += 1
      return true
    }
  }
}

extension StorageClock {
  /// The age in milliseconds from which the stored state is too old.
  private static let freshTime: Int64 = 3_600_000

  /// Whether the state must be stored again, because of a new boot or its age.
  func isNews(to stored: Anchor?) -> Bool {
    let anchor = anchor
    guard let stored, stored.bootID == anchor.bootID, stored.isSettled == anchor.isSettled else { return true }
    return !(0..<Self.freshTime).contains(anchor.sinceBoot - stored.sinceBoot)
  }
}

// MARK: - A clock that several servers share

/// A database has no boot clock. Its wall clock takes the place of it, with one anchor for all servers. Each server reads
/// both each second, and over each new connection. So at any time all servers have the same service time, and also one
/// that starts: the stored anchor plus the time that has passed by the database's clock.
///
/// A failover, or an administrator, can set that clock:
///
/// - **Back:** service time stands still. After a step of more than ``greatestStep`` the first server stores a new anchor,
///   so that time goes on from its last one. The others follow it.
/// - **Forward:** service time follows, as after any time in which nothing ran. But if the clock is right again after a
///   step back, time does not follow: the old anchor holds again, as the offset to confirmed Unix time shows.
///
/// At each server, time never goes back.
extension StorageClock {
  /// Takes the database's anchor, which another server may have changed.
  ///
  /// - Parameters:
  ///   - stored: the anchor, read together with the clock.
  ///   - settingClocks: sets ``MachineClocks`` to the clock that was read.
  func follow(_ stored: Anchor?, settingClocks: () -> Void) {
    state.withLock { _ = follow(stored, &$0, settingClocks) }
  }

  /// Whether a server must call ``keep(over:settingClocks:)``.
  var isAstray: Bool { state.withLock(\.isAstray) }

  /// What is to be stored in place of the database's anchor.
  struct Kept: Sendable {
    let anchor: Anchor
    /// How many confirmations it has.
    fileprivate let confirmations: Int
    /// By how much service time is now further ahead of the clock than by the database's anchor, in milliseconds.
    let correction: Int64
  }

  /// The anchor to store in place of this one. Call it while no other server can store one.
  func keep(over stored: Anchor?, settingClocks: () -> Void) -> Kept {
    state.withLock { state in
      let sinceBoot = follow(stored, &state, settingClocks)
      var anchor = state.current(at: sinceBoot)
      if state.isBehind(at: sinceBoot) { anchor = anchor.moved(to: anchor.time, at: sinceBoot) }
      state.anchor = anchor
      state.isAstray = false
      let correction = stored.map { anchor.lead - $0.lead } ?? 0
      return Kept(anchor: anchor, confirmations: state.confirmations.made, correction: correction)
    }
  }

  /// Notes that the anchor of ``keep(over:settingClocks:)`` is stored.
  func noteStored(_ kept: Kept) {
    state.withLock {
      $0.confirmations.stored = kept.confirmations
      $0.wrongLead = nil
    }
  }

  private func follow(_ stored: Anchor?, _ state: inout State, _ settingClocks: () -> Void) -> Int64 {
    let before = clocks.sinceBoot()
    let expected = state.current(at: before)
    settingClocks()
    let sinceBoot = clocks.sinceBoot()
    // The anchor of another engine is from before a move: the first server stores its own.
    if let stored, stored.bootID == state.anchor.bootID {
      state.take(stored, at: sinceBoot)
      if sinceBoot - before > Self.greatestStep { state.returnToConfirmed(from: expected.time, at: sinceBoot) }
    }
    state.isAstray = state.isAstray || state.isBehind(at: sinceBoot)
    return sinceBoot
  }
}

extension StorageClock.State {
  /// Whether the clock was set back so far that service time must not wait for it.
  func isBehind(at sinceBoot: Int64) -> Bool {
    last.milliseconds(since: anchor.time(at: sinceBoot)) > StorageClock.greatestStep
  }

  mutating func take(_ stored: StorageClock.Anchor, at sinceBoot: Int64) {
    isAstray = stored.lead == wrongLead
    guard !isAstray else { return }
    wrongLead = nil
    let own = anchor
    anchor = stored
    if confirmations.stored < confirmations.made {
      // Only this server knows yet what a computer confirmed.
      if !stored.isSettled, own.lead > stored.lead {
        anchor.time = UnixTime(milliseconds: stored.sinceBoot + own.lead)
      }
      anchor.unixTime = anchor.time.advanced(milliseconds: own.offset)
      anchor.isSettled = true
    }
    if isBehind(at: sinceBoot), own.lead > anchor.lead {
      // A server of an older version, or a failover, has put an earlier anchor there.
      anchor = own
      isAstray = true
    }
    last = max(last, anchor.time)
  }

  /// Goes back to the anchor from before a step back, if this step forward has corrected the clock: by confirmed Unix
  /// time it is now what service time would be without the two steps.
  ///
  /// - Parameter expected: service time of this moment, before the clock was read.
  mutating func returnToConfirmed(from expected: UnixTime, at sinceBoot: Int64) {
    let confirmed = UnixTime(milliseconds: sinceBoot - anchor.offset)
    guard anchor.time(at: sinceBoot).milliseconds(since: expected) > StorageClock.greatestStep,
      confirmed.milliseconds(since: expected).magnitude <= StorageClock.greatestStep
    else { return }
    wrongLead = anchor.lead
    anchor = anchor.moved(to: confirmed, at: sinceBoot)
    last = max(last, confirmed)
    isAstray = true
  }
}
