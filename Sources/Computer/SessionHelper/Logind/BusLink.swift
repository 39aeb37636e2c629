import HostSystem
import IAMPASSClient

/// The system bus. If the connection is lost, a new one is made after a pause.
final class BusLink {
  /// The greatest number of messages that are read in one turn.
  private static let greatestBatch = 256

  /// Why there is no bus; nil if there is one.
  private(set) var failure: LogindError?

  private let address: String?
  /// The time that the bus has for its greeting, in milliseconds.
  private let bound: Int64
  private var connection: BusConnection?
  private var readyBy = MonotonicInstant(nanoseconds: 0)
  private var wasReady = false
  private var pause: BusPause
  private var events: [BusEvent] = []

  init(address: String?, bound: Int64, firstPause: Int64) {
    self.address = address
    self.bound = bound
    pause = BusPause(first: firstPause)
  }

  var descriptor: Int32 { connection?.descriptor ?? -1 }
  var interest: UInt32 { connection?.interest ?? 0 }

  /// When ``takeEvents(at:)`` has something to do although the descriptor is silent; nil: never.
  var deadline: MonotonicInstant? {
    // A call has left these here.
    guard events.isEmpty else { return MonotonicInstant(nanoseconds: 0) }
    guard let connection else { return pause.end ?? MonotonicInstant(nanoseconds: 0) }
    guard !wasReady else { return connection.deadline }
    return connection.deadline.map { min($0, readyBy) } ?? readyBy
  }

  /// What has arrived since the last call. Does not wait.
  func takeEvents(at now: MonotonicInstant) -> [BusEvent] {
    if connection == nil, pause.isOver(at: now) { connect(at: now) }
    if let connection {
      process(connection, at: now)
      if !wasReady, now >= readyBy { drop("no greeting from the bus", at: now) }
    }
    defer { events = [] }
    return events
  }

  /// Calls, and waits for the answer until `end`. Without an answer the connection is dropped, so that a bus that hangs
  /// delays one call for each pause, and not each call.
  func call(
    _ member: String, on object: BusObject, _ arguments: [BusArgument], until end: MonotonicInstant
  ) throws(LogindError) -> BusMessage {
    let connection = try readyConnection(until: end)
    let message = try connection.message(member, on: object, arguments)
    do throws(BusCallError) {
      let reply = try connection.call(message, until: end)
      pause.reset()
      return reply
    } catch {
      switch error {
      case .lost(let reason): throw drop(reason, at: .now())
      case .answered(let name, let text):
        pause.reset()
        throw LogindError(answer: name, text, from: object)
      }
    }
  }

  private func readyConnection(until end: MonotonicInstant) throws(LogindError) -> BusConnection {
    if connection == nil, pause.isOver(at: .now()) { connect(at: .now()) }
    while let connection, !wasReady {
      let now = MonotonicInstant.now()
      guard now < min(end, readyBy) else { throw drop("no greeting from the bus", at: now) }
      connection.wait(until: min(end, readyBy))
      process(connection, at: .now())
    }
    guard let connection else { throw failure ?? .notReached("no connection") }
    return connection
  }

  private func connect(at now: MonotonicInstant) {
    do throws(LogindError) {
      connection = try BusConnection(address: address)
      readyBy = now.advanced(milliseconds: bound)
    } catch {
      failure = error
      pause.begin(at: now)
    }
  }

  private func process(_ connection: BusConnection, at now: MonotonicInstant) {
    do throws(LogindError) {
      for _ in 0..<Self.greatestBatch {
        guard let step = try connection.process() else { break }
        if case .message(let message) = step { events.append(.message(message)) }
      }
    } catch {
      drop(error, at: now)
      return
    }
    guard !wasReady, connection.isReady else { return }
    wasReady = true
    failure = nil
    events.append(.ready)
  }

  @discardableResult
  private func drop(_ reason: String, at now: MonotonicInstant) -> LogindError {
    drop(.notReached(reason), at: now)
  }

  @discardableResult
  private func drop(_ error: LogindError, at now: MonotonicInstant) -> LogindError {
    connection = nil
    wasReady = false
    failure = error
    pause.begin(at: now)
    return error
  }
}

enum BusEvent {
  /// There is a connection, and signals arrive from now on.
  case ready
  case message(BusMessage)
}

extension LogindError {
  /// Errors by which the bus or systemd says that a service does not run, or did not answer in time.
  private static let unreachable: Set<String> = [
    "org.freedesktop.DBus.Error.NoReply", "org.freedesktop.DBus.Error.ServiceUnknown",
    "org.freedesktop.DBus.Error.NameHasNoOwner", "org.freedesktop.DBus.Error.TimedOut",
    "org.freedesktop.DBus.Error.Timeout", "org.freedesktop.DBus.Error.Disconnected",
    "org.freedesktop.DBus.Error.LimitsExceeded",
  ]

  init(answer name: String, _ text: String, from object: BusObject) {
    if object.absence.contains(name) {
      self = .noSuchObject
    } else if Self.unreachable.contains(name) || name.hasPrefix("org.freedesktop.DBus.Error.Spawn.") {
      self = .notReached("\(name): \(text)")
    } else {
      self = .refused("\(name): \(text)")
    }
  }
}
