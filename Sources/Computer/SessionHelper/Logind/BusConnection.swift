import CHost
import CSystemd
import Glibc
import HostSystem
import IAMPASSClient

/// One connection to the system bus, from its start until it is lost. A lost connection is not reused. No function
/// waits beyond the deadline that it is given.
final class BusConnection {
  /// The signals that the bus passes on to the helper. The bus itself checks the sender of a broadcast signal.
  private static let rules = [
    rule(sender: "org.freedesktop.login1", interface: BusObject.logind.interface, "SessionRemoved"),
    rule(sender: "org.freedesktop.login1", interface: BusObject.logind.interface, "PrepareForSleep"),
    rule(sender: "org.freedesktop.DBus", interface: "org.freedesktop.DBus", "NameOwnerChanged")
      + ",arg0='org.freedesktop.login1'",
  ]

  /// sd-bus keeps a pointer to it for the callbacks below, so it has a fixed address.
  private struct Rules {
    var installed = 0
    var refused = false
  }

  private let bus: OpaquePointer
  private let rules: UnsafeMutablePointer<Rules>

  /// Begins to connect; ``isReady`` says when that is done.
  ///
  /// - Parameter address: nil is the system bus. Tests give the address of another bus.
  init(address: String?) throws(LogindError) {
    var made: OpaquePointer?
    let code = address.map { Self.open($0, &made) } ?? sd_bus_open_system(&made)
    guard code >= 0, let made else { throw .notReached(Self.text(code)) }
    bus = made
    rules = .allocate(capacity: 1)
    rules.initialize(to: Rules())
    for rule in Self.rules {
      // SAFETY: `rules` outlives the bus, see deinit.
      let code = sd_bus_add_match_async(bus, nil, rule, Self.passOn, Self.ruleInstalled, rules)
      guard code >= 0 else { throw .notReached(Self.text(code)) }
    }
  }

  deinit {
    // SAFETY: both are this object's own. The bus goes first, and with it the callbacks that know `rules`.
    sd_bus_close_unref(bus)
    rules.deallocate()
  }

  // SAFETY: for all below, the bus and `rules` live as long as this object.

  /// -1 once the connection is lost.
  var descriptor: Int32 { max(sd_bus_get_fd(bus), -1) }

  /// poll(2)'s bits, which epoll(7) has too.
  var interest: UInt32 { UInt32(max(sd_bus_get_events(bus), 0)) }

  /// When ``process()`` has something to do although the descriptor is silent; nil: never.
  var deadline: MonotonicInstant? {
    var microseconds: UInt64 = 0
    // SAFETY: the bus is alive; the call stores a point of CLOCK_MONOTONIC.
    guard sd_bus_get_timeout(bus, &microseconds) >= 0, microseconds < UInt64(Int64.max / 1_000) else { return nil }
    return MonotonicInstant(nanoseconds: Int64(microseconds) * 1_000)
  }

  /// Whether the bus has greeted us and knows which signals we want.
  var isReady: Bool { sd_bus_is_ready(bus) > 0 && rules.pointee.installed == Self.rules.count }

  /// Takes one step that does not wait. Returns nil if nothing is left to do.
  func process() throws(LogindError) -> BusStep? {
    var message: OpaquePointer?
    // SAFETY: the bus is alive; a stored message comes with a reference.
    let code = sd_bus_process(bus, &message)
    if let message { return .message(BusMessage(owning: message)) }
    guard code >= 0, sd_bus_is_open(bus) > 0 else { throw .notReached(Self.text(code < 0 ? code : -ECONNRESET)) }
    guard !rules.pointee.refused else { throw .notReached("match rule refused") }
    return code > 0 ? .done : nil
  }

  /// Sends a call and waits for its answer. Signals that arrive meanwhile are kept for ``process()``.
  ///
  /// Call it on a ready bus alone: before the bus has sent its greeting, sd_bus_call(3) waits for the greeting without
  /// a bound.
  func call(_ message: BusMessage, until deadline: MonotonicInstant) throws(BusCallError) -> BusMessage {
    let left = deadline.milliseconds(since: .now())
    guard left > 0 else { throw .lost(Self.noAnswer) }
    var error = sd_bus_error()
    var reply: OpaquePointer?
    // SAFETY: all are alive for the call; sd-bus fills `error`, freed here, and `reply`, which comes with a reference.
    let code = sd_bus_call(bus, message.pointer, UInt64(left) * 1_000, &error, &reply)
    defer { sd_bus_error_free(&error) }
    if code >= 0, let reply { return BusMessage(owning: reply) }
    guard sd_bus_is_open(bus) > 0 else { throw .lost(Self.text(code)) }
    // The clock decides: the bus also answers -ETIMEDOUT if a service died before it answered.
    guard MonotonicInstant.now() < deadline else { throw .lost(Self.noAnswer) }
    throw .answered(
      name: error.name.map { String(cString: $0) } ?? Self.text(code),
      text: error.message.map { String(cString: $0) } ?? "")
  }

  /// Makes a call to send later. This does not wait.
  func message(_ member: String, on object: BusObject, _ arguments: [BusArgument]) throws(LogindError) -> BusMessage {
    guard let message = BusMessage.call(member, on: object, arguments: arguments, bus: bus) else {
      throw .notReached("no message can be made")
    }
    return message
  }

  /// Waits until there is something to process.
  func wait(until deadline: MonotonicInstant) {
    let end = min(deadline, self.deadline ?? deadline)
    let left = max(0, min(end.milliseconds(since: .now()), Int64(Int32.max)))
    var entry = pollfd(fd: descriptor, events: Int16(truncatingIfNeeded: interest), revents: 0)
    // SAFETY: one entry. An interrupted wait is a short one; the caller looks at the clock.
    _ = poll(&entry, 1, Int32(left))
  }

  private static func open(_ address: String, _ made: inout OpaquePointer?) -> Int32 {
    var code = sd_bus_new(&made)
    // SAFETY: sd_bus_new made the bus if it returned no error.
    if code >= 0 { code = sd_bus_set_address(made, address) }
    if code >= 0 { code = sd_bus_set_bus_client(made, 1) }
    if code >= 0 { code = sd_bus_start(made) }
    if code < 0 {
      sd_bus_unref(made)
      made = nil
    }
    return code
  }

  private static func rule(sender: String, interface: String, _ member: String) -> String {
    "type='signal',sender='\(sender)',interface='\(interface)',member='\(member)'"
  }

  private static let noAnswer = "no answer in time"

  private static func text(_ code: Int32) -> String { String(cString: strerror(-code)) }

  /// Handles no signal itself, so that sd_bus_process(3) returns each one to its caller.
  private static let passOn: sd_bus_message_handler_t = { _, _, _ in 0 }

  private static let ruleInstalled: sd_bus_message_handler_t = { reply, rules, _ in
    // SAFETY: sd-bus gives back the address from init, which lives longer than the bus.
    guard let rules = rules?.assumingMemoryBound(to: Rules.self) else { return 0 }
    if sd_bus_message_is_method_error(reply, nil) > 0 {
      rules.pointee.refused = true
    } else {
      rules.pointee.installed += 1
    }
    return 0
  }
}

enum BusStep {
  case message(BusMessage)
  case done
}

enum BusCallError: Error {
  /// An error came back, with its D-Bus name.
  case answered(name: String, text: String)
  /// No answer within the bound, or the bus is lost.
  case lost(String)
}
