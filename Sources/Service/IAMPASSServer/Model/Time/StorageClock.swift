import IAMPASSProtocol
import Synchronization

/// The only source of the service's time.
///
/// Deadlines and ages are in *service time*. It looks like Unix time, but follows the computer's boot clock from a
/// point in the database. So a step of the wall clock, forward or back, does not end, prolong or delete anything.
/// Another storage may have another clock, such as a database server's own.
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

    /// The same anchor at a later point of this boot.
    fileprivate func advanced(to sinceBoot: Int64) -> Anchor {
      var anchor = self
      let passed = max(sinceBoot - self.sinceBoot, 0)
      anchor.sinceBoot += passed
      anchor.time = anchor.time.advanced(milliseconds: passed)
      anchor.unixTime = anchor.unixTime.advanced(milliseconds: passed)
      return anchor
    }
  }

  /// How far the wall clock may drift before the times for people follow it, in milliseconds. A reader who looks twice
  /// should see the same times.
  private static let tolerance: Int64 = 2_000

  /// How long after a boot a client on this computer does not confirm the wall clock, in milliseconds. Both use the
  /// same clock, which may be wrong until the network has set it.
  static let ownTime: Int64 = 900_000

  private let clocks: MachineClocks
  private let state: Mutex<Anchor>

  /// - Parameter stored: the database's anchor; nil for a database without one, whose times are by the wall clock.
  init(_ clocks: MachineClocks, stored: Anchor?) {
    self.clocks = clocks
    let wall = clocks.wall()
    let sinceBoot = clocks.sinceBoot()
    let bootID = clocks.bootID()
    var anchor =
      stored ?? Anchor(bootID: bootID, sinceBoot: sinceBoot, time: wall, unixTime: wall, isSettled: false)
    // Within one boot, a time namespace (time_namespaces(7)) can have a boot clock that is behind the stored one.
    if bootID == nil || anchor.bootID != bootID || sinceBoot < anchor.sinceBoot {
      anchor.bootID = bootID
      anchor.sinceBoot = sinceBoot
      anchor.isSettled = false
    }
    state = Mutex(anchor)
  }

  /// Service time.
  func now() -> UnixTime { anchor.time }

  /// The wall clock's time, which may be wrong. It is compared with the clocks of others.
  func wall() -> UnixTime { clocks.wall() }

  /// Milliseconds for which service time stands still, because a database's clock was set back. Deadlines do not come
  /// meanwhile.
  func standstill() -> Int64 { clocks.standstill() }

  /// Confirmed Unix time, for people and for other systems.
  func unixTime(of time: UnixTime) -> UnixTime { time.advanced(milliseconds: state.withLock(\.offset)) }

  /// The state to store now.
  var anchor: Anchor { state.withLock { $0.advanced(to: clocks.sinceBoot()) } }

  /// Notes that a computer's clock agrees with the wall clock, by its signed request.
  ///
  /// - Parameters:
  ///   - stamp: the request's time stamp, in seconds.
  ///   - isOwn: whether the request came from this computer.
  /// - Returns: whether there is a new state to store.
  func confirm(by stamp: Int64, isOwn: @autoclosure () -> Bool = false) -> Bool {
    let wall = clocks.wall()
    if clocks.sinceBoot() < Self.ownTime, isOwn() { return false }
    guard (wall.seconds - stamp).magnitude <= RequestSigner.clockWindow else { return false }
    return state.withLock { state in
      var anchor = state.advanced(to: clocks.sinceBoot())
      let ahead = wall.milliseconds(since: anchor.unixTime)
      guard !anchor.isSettled || ahead.magnitude >= Self.tolerance else { return false }
      // The service did not run for this time.
      if !anchor.isSettled, ahead > 0 { anchor.time = anchor.time.advanced(milliseconds: ahead) }
      anchor.unixTime = wall
      anchor.isSettled = true
      state = anchor
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
