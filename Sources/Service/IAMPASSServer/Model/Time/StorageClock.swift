import IAMPASSProtocol
import Synchronization

/// The one place where the service's time comes from.
///
/// Deadlines and ages are in *service time*. It looks like Unix time, and only time that passes moves it: the machine's
/// boot clock, from a point that the database has. No step of the wall clock, forward or back, ends, prolongs or prunes
/// anything. Another storage has another clock here: a database server's own.
///
/// The boot clock says nothing of the time between two boots, nor on another machine that the database was moved to.
/// There only the wall clock knows, and just after a start it may be wrong: so service time goes on from where it was
/// known last, and makes up for the gap as soon as a computer's signed request confirms the wall clock.
///
/// A virtual machine that is paused or restored from a snapshot loses that time: its boot clock stands still, and the
/// kernel does not say so. The wall clock's jump cannot be told from one that somebody made. So sessions last longer by
/// the pause; computers end them at their own expiry.
///
/// For people the database also has how far service time and confirmed Unix time are apart.
public final class StorageClock: Sendable {
  /// What is kept of it: service time at a point of one boot, and what belongs to it.
  struct Anchor: Sendable, Equatable {
    var bootID: String?
    /// Milliseconds after boot.
    var sinceBoot: Int64
    /// Service time then.
    var time: UnixTime
    /// Unix time then, as last confirmed.
    var unixTime: UnixTime
    /// The time before this boot is made up for.
    var isSettled: Bool

    /// How far Unix time is ahead of service time, in milliseconds.
    fileprivate var offset: Int64 { unixTime.milliseconds(since: time) }

    /// The same, said of a later point of this boot.
    fileprivate func advanced(to sinceBoot: Int64) -> Anchor {
      var anchor = self
      let passed = max(sinceBoot - self.sinceBoot, 0)
      anchor.sinceBoot += passed
      anchor.time = anchor.time.advanced(milliseconds: passed)
      anchor.unixTime = anchor.unixTime.advanced(milliseconds: passed)
      return anchor
    }
  }

  /// Milliseconds that the wall clock may be off its own course without what people are shown following it: whoever
  /// looks twice should see the same times.
  private static let tolerance: Int64 = 2_000

  /// Milliseconds after a boot until a client on this machine confirms the wall clock. Both have the same clock, and it
  /// may be wrong until the network has set it.
  static let ownTime: Int64 = 900_000

  private let clocks: MachineClocks
  private let state: Mutex<Anchor>

  /// - Parameter stored: the database's; nil for a database that has none yet, whose times are of the wall clock.
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

  /// The wall clock's time, which may be wrong: for what others say of their own clocks.
  func wall() -> UnixTime { clocks.wall() }

  /// Milliseconds for which service time stands still: a database's clock was set back. No deadline comes meanwhile.
  func standstill() -> Int64 { clocks.standstill() }

  /// For people, and for whatever leaves the service.
  func unixTime(of time: UnixTime) -> UnixTime { time.advanced(milliseconds: state.withLock(\.offset)) }

  /// What is to be stored of it now.
  var anchor: Anchor { state.withLock { $0.advanced(to: clocks.sinceBoot()) } }

  /// A computer's own clock agrees with the wall clock, as its signed request shows.
  ///
  /// - Parameters:
  ///   - stamp: the request's time stamp, in seconds.
  ///   - isOwn: the request came from this machine.
  /// - Returns: whether there is something new to be kept.
  func confirm(by stamp: Int64, isOwn: @autoclosure () -> Bool = false) -> Bool {
    let wall = clocks.wall()
    if clocks.sinceBoot() < Self.ownTime, isOwn() { return false }
    guard (wall.seconds - stamp).magnitude <= RequestSigner.clockWindow else { return false }
    return state.withLock { state in
      var anchor = state.advanced(to: clocks.sinceBoot())
      let ahead = wall.milliseconds(since: anchor.unixTime)
      guard !anchor.isSettled || ahead.magnitude >= Self.tolerance else { return false }
      // The machine was away for so long.
      if !anchor.isSettled, ahead > 0 { anchor.time = anchor.time.advanced(milliseconds: ahead) }
      anchor.unixTime = wall
      anchor.isSettled = true
      state = anchor
      return true
    }
  }
}

extension StorageClock {
  /// Milliseconds after which what the database has of the clock is too old for what it stamps with it.
  private static let freshTime: Int64 = 3_600_000

  /// Whether the database is to be told of this boot, or of how far time has come.
  func isNews(to stored: Anchor?) -> Bool {
    let anchor = anchor
    guard let stored, stored.bootID == anchor.bootID, stored.isSettled == anchor.isSettled else { return true }
    return !(0..<Self.freshTime).contains(anchor.sinceBoot - stored.sinceBoot)
  }
}
