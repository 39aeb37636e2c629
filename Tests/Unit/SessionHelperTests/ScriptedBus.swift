import CHost
import CSystemd
import Foundation
import Testing

/// A bus with a scripted logind: real sd-bus at both ends of a socket.
///
/// Unchecked: only its own thread uses the connections, and the lock guards what both threads use.
final class ScriptedBus: @unchecked Sendable {
  indirect enum Value: Sendable {
    case string(String)
    case path(String)
    case unsigned(UInt32)
    case bool(Bool)
    /// A signature and the values for it.
    case array(String, [Value])
    case structure(String, [Value])
    case entry(String, [Value])
    case variant(String, Value)
  }

  enum Answer: Sendable {
    case values([Value])
    case error(String)
    case silence
  }

  struct Call: Equatable, Sendable {
    let member: String
    let texts: [String]
  }

  let address: String
  private let folder: ScratchFolder
  private let answer: @Sendable (Call) -> Answer
  private let listener: Int32
  private let lock = NSLock()
  private var pending: [(ScriptedBus, OpaquePointer) -> Void] = []
  private var heard: [Call] = []
  private var isOver = false
  private let ended = DispatchSemaphore(value: 0)

  init(_ answer: @escaping @Sendable (Call) -> Answer) throws {
    self.answer = answer
    folder = try ScratchFolder()
    let path = folder.path + "/bus"
    address = "unix:path=" + path
    listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    var name = sockaddr_un()
    name.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: path.utf8) }
    let code = withUnsafePointer(to: name) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    try #require(code == 0 && listen(listener, 8) == 0)
    Thread.detachNewThread { [self] in serve() }
  }

  /// Calls of logind's and the service manager's methods, in order.
  var calls: [Call] { lock.withLock { heard } }

  /// Closes all connections and accepts no new ones.
  func stop() {
    lock.withLock { isOver = true }
    ended.wait()
  }

  /// Closes all connections and accepts new ones.
  func drop() {
    lock.withLock {
      pending.append {
        $0.drops = true
        _ = $1
      }
    }
  }

  func emit(
    _ member: String, of interface: String = "org.freedesktop.login1.Manager", _ values: [Value],
    to destination: String? = nil
  ) {
    lock.withLock {
      pending.append { _, bus in
        var made: OpaquePointer?
        sd_bus_message_new_signal(bus, &made, "/org/freedesktop/login1", interface, member)
        sd_bus_message_set_sender(made, ":1.7")
        if let destination { sd_bus_message_set_destination(made, destination) }
        for value in values { Self.append(value, to: made) }
        sd_bus_send(bus, made, nil)
        sd_bus_message_unref(made)
      }
    }
  }

  private var drops = false

  private func serve() {
    var buses: [OpaquePointer] = []
    while !lock.withLock({ isOver }) {
      let taken = accept(listener, nil, nil)
      if taken >= 0, let bus = Self.server(on: taken) { buses.append(bus) }
      let orders = lock.withLock {
        defer { if !buses.isEmpty { pending = [] } }
        return buses.isEmpty ? [] : pending
      }
      for bus in buses {
        for order in orders { order(self, bus) }
        var message: OpaquePointer?
        while sd_bus_process(bus, &message) > 0 {
          reply(to: message)
          sd_bus_message_unref(message)
          message = nil
        }
      }
      if drops {
        for bus in buses { sd_bus_close_unref(bus) }
        buses = []
      }
      drops = false
      usleep(500)
    }
    for bus in buses { sd_bus_close_unref(bus) }
    close(listener)
    ended.signal()
  }

  private static func server(on socket: Int32) -> OpaquePointer? {
    var bus: OpaquePointer?
    sd_bus_new(&bus)
    sd_bus_set_fd(bus, socket, socket)
    sd_bus_set_server(bus, 1, sd_id128_t())
    sd_bus_set_trusted(bus, 1)
    return sd_bus_start(bus) >= 0 ? bus : nil
  }

  private func reply(to message: OpaquePointer?) {
    guard let message, let member = sd_bus_message_get_member(message).map({ String(cString: $0) }),
      sd_bus_message_is_method_call(message, nil, nil) > 0
    else { return }
    var texts: [String] = []
    var text: UnsafePointer<CChar>?
    while sd_bus_message_read_basic(message, CChar(UInt8(ascii: "s")), &text) > 0, let found = text {
      texts.append(String(cString: found))
    }
    var number: Int32 = 0
    if sd_bus_message_read_basic(message, CChar(UInt8(ascii: "i")), &number) > 0 { texts.append(String(number)) }
    let call = Call(member: member, texts: texts)
    if member != "Hello" && member != "AddMatch" { lock.withLock { heard.append(call) } }
    send(member == "Hello" ? .values([.string(":1.42")]) : answer(call), to: message)
  }

  private func send(_ answer: Answer, to call: OpaquePointer) {
    var made: OpaquePointer?
    switch answer {
    case .silence: return
    case .values(let values):
      sd_bus_message_new_method_return(call, &made)
      for value in values { Self.append(value, to: made) }
    case .error(let name):
      name.withCString { name in
        var error = sd_bus_error(name: name, message: nil, _need_free: 0)
        sd_bus_message_new_method_error(call, &made, &error)
      }
    }
    sd_bus_send(nil, made, nil)
    sd_bus_message_unref(made)
  }

  private static func append(_ value: Value, to message: OpaquePointer?) {
    func code(_ type: Unicode.Scalar) -> CChar { CChar(UInt8(ascii: type)) }
    func container(_ type: Unicode.Scalar, _ contents: String, _ values: [Value]) {
      sd_bus_message_open_container(message, code(type), contents)
      for value in values { append(value, to: message) }
      sd_bus_message_close_container(message)
    }
    switch value {
    case .string(let text): sd_bus_message_append_basic(message, code("s"), text)
    case .path(let text): sd_bus_message_append_basic(message, code("o"), text)
    case .unsigned(var number): sd_bus_message_append_basic(message, code("u"), &number)
    case .bool(let bool):
      var number: Int32 = bool ? 1 : 0
      sd_bus_message_append_basic(message, code("b"), &number)
    case .array(let contents, let values): container("a", contents, values)
    case .structure(let contents, let values): container("r", contents, values)
    case .entry(let contents, let values): container("e", contents, values)
    case .variant(let contents, let value): container("v", contents, [value])
    }
  }
}
