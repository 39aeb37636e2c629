import CSystemd

/// A message of the bus (sd-bus(3)), which is freed with this object. A value that cannot be read gives nil, and so do
/// all values after it.
final class BusMessage {
  let pointer: OpaquePointer

  /// Takes over the caller's reference.
  init(owning pointer: OpaquePointer) { self.pointer = pointer }

  // SAFETY: the reference is this object's own.
  deinit { sd_bus_message_unref(pointer) }

  /// A call that is not sent yet; nil if memory or the bus is gone.
  static func call(
    _ member: String, on object: BusObject, arguments: [BusArgument], bus: OpaquePointer
  ) -> BusMessage? {
    var made: OpaquePointer?
    // SAFETY: `bus` is the caller's open connection; the texts live for the call.
    guard
      sd_bus_message_new_method_call(bus, &made, object.service, object.path, object.interface, member) >= 0,
      let made
    else { return nil }
    let message = BusMessage(owning: made)
    return arguments.allSatisfy { $0.append(to: made) } ? message : nil
  }

  /// Whether it is this signal, and a broadcast. Any user may send the same signal to us alone. That one passes by our
  /// match rules, and so by the check of its sender.
  func isBroadcast(_ member: String, of interface: String) -> Bool {
    // SAFETY: the message is alive.
    sd_bus_message_is_signal(pointer, interface, member) > 0 && sd_bus_message_get_destination(pointer) == nil
  }

  /// Reads a value of type `s` (a text) or `o` (an object's path).
  func string(_ type: Character = "s") -> String? {
    var text: UnsafePointer<CChar>?
    // SAFETY: types `s` and `o` store a pointer to text that lives as long as the message; it is copied here.
    guard sd_bus_message_read_basic(pointer, code(type), &text) > 0 else { return nil }
    return text.map { String(cString: $0) }
  }

  func unsigned() -> UInt32? {
    var value: UInt32 = 0
    // SAFETY: type `u` stores 32 bits.
    return sd_bus_message_read_basic(pointer, code("u"), &value) > 0 ? value : nil
  }

  func bool() -> Bool? {
    var value: Int32 = 0
    // SAFETY: type `b` stores an int.
    return sd_bus_message_read_basic(pointer, code("b"), &value) > 0 ? value != 0 : nil
  }

  /// Reads the contents of a container with `body`; nil at the end of an array, or if `body` gives nil.
  func inside<Result>(_ type: Character, _ contents: String, _ body: () -> Result?) -> Result? {
    // SAFETY: the message is alive, and so is `contents` for the call.
    guard sd_bus_message_enter_container(pointer, code(type), contents) > 0, let result = body(),
      sd_bus_message_exit_container(pointer) >= 0
    else { return nil }
    return result
  }

  /// All elements of an array; nil if one of them cannot be read.
  func array<Element>(of contents: String, _ element: () -> Element?) -> [Element]? {
    inside("a", contents) {
      var elements: [Element] = []
      // SAFETY: the message is alive.
      while sd_bus_message_at_end(pointer, 0) == 0 {
        guard let next = element() else { return nil }
        elements.append(next)
      }
      return elements
    }
  }

  /// Skips a value of these types.
  func skip(_ types: String) -> Bool {
    // SAFETY: the message is alive.
    sd_bus_message_skip(pointer, types) >= 0
  }

  /// The signature of a variant's value.
  func variantContents() -> String? {
    var type: CChar = 0
    var contents: UnsafePointer<CChar>?
    // SAFETY: the text lives as long as the message; it is copied here.
    guard sd_bus_message_peek_type(pointer, &type, &contents) > 0, type == code("v") else { return nil }
    return contents.map { String(cString: $0) }
  }

  private func code(_ type: Character) -> CChar { CChar(type.asciiValue ?? 0) }
}

/// The object that a call is made on.
struct BusObject {
  let service: String
  let path: String
  let interface: String
  /// Names of the D-Bus errors that mean that the object does not exist.
  let absence: [String]

  static let logind = BusObject(
    service: "org.freedesktop.login1", path: "/org/freedesktop/login1", interface: "org.freedesktop.login1.Manager",
    absence: ["org.freedesktop.login1.NoSuchSession"])
  static let serviceManager = BusObject(
    service: "org.freedesktop.systemd1", path: "/org/freedesktop/systemd1",
    interface: "org.freedesktop.systemd1.Manager",
    // NoSuchProcess: nothing is left in the unit that could be killed.
    absence: ["org.freedesktop.systemd1.NoSuchUnit", "org.freedesktop.systemd1.NoSuchProcess"])

  /// The properties of a session's object.
  static func session(_ path: String) -> BusObject {
    BusObject(service: logind.service, path: path, interface: "org.freedesktop.DBus.Properties", absence: [])
  }
}

enum BusArgument {
  case string(String)
  case int32(Int32)

  fileprivate func append(to message: OpaquePointer) -> Bool {
    switch self {
    case .string(let text):
      // SAFETY: type `s` takes the text itself, which is copied.
      text.withCString { sd_bus_message_append_basic(message, CChar(UInt8(ascii: "s")), $0) >= 0 }
    case .int32(var number):
      // SAFETY: type `i` takes a pointer to 32 bits, which are copied.
      sd_bus_message_append_basic(message, CChar(UInt8(ascii: "i")), &number) >= 0
    }
  }
}
