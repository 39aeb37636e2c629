import HostSystem

/// One of a host's addresses, in the kernel's form (struct sockaddr), with its port.
package struct HostAddress: Hashable, Sendable {
  package let family: Int32
  package let bytes: [UInt8]

  package init(family: Int32, bytes: [UInt8]) {
    self.family = family
    self.bytes = bytes
  }
}

/// Which of a host's addresses is tried when (RFC 8305), and when all of them have failed. It has no clock and no
/// socket.
///
/// An address that does not answer holds up no other: the next one starts beside it.
package struct AddressRace {
  /// In ms: the time after which the next address starts (RFC 8305 §5).
  package static let delay: Int64 = 250
  /// In ms, for one address: a lost packet is sent again after 1 s, and once more after 3 s. Two addresses that do not
  /// answer take less than 3 s together.
  package static let share: Int64 = 2_700

  private struct Runner {
    let address: HostAddress
    let socket: Int32
    let end: MonotonicInstant
  }

  private var waiting: ArraySlice<HostAddress>
  private var runners: [Runner] = []
  private var nextStart: MonotonicInstant
  /// Why addresses failed, as errno(3) has it.
  package private(set) var errors: [Int32] = []

  /// - Parameters:
  ///   - addresses: in the order of the name's lookup (RFC 6724).
  ///   - proven: the address of the last connection that served. It starts first if the name still has it.
  package init(_ addresses: [HostAddress], proven: HostAddress?, at now: MonotonicInstant) {
    waiting = Self.ordered(addresses, proven: proven)[...]
    nextStart = now
  }

  /// Takes turns between the families, and begins with that of the first address (RFC 8305 §4).
  package static func ordered(_ addresses: [HostAddress], proven: HostAddress?) -> [HostAddress] {
    var seen: Set<HostAddress> = []
    let single = addresses.filter { seen.insert($0).inserted }
    let near = single.filter { $0.family == single[0].family }
    let far = single.filter { $0.family != single[0].family }
    var order: [HostAddress] = []
    for place in 0..<max(near.count, far.count) {
      if place < near.count { order.append(near[place]) }
      if place < far.count { order.append(far[place]) }
    }
    if let proven, let place = order.firstIndex(of: proven) { order.insert(order.remove(at: place), at: 0) }
    return order
  }

  /// The next address if its time has come. The caller then says what became of it: ``began(_:socket:at:)`` or
  /// ``failed(with:at:)``.
  package mutating func due(_ now: MonotonicInstant) -> HostAddress? {
    guard now >= nextStart, let address = waiting.popFirst() else { return nil }
    nextStart = now.advanced(milliseconds: Self.delay)
    return address
  }

  package mutating func began(_ address: HostAddress, socket: Int32, at now: MonotonicInstant) {
    runners.append(Runner(address: address, socket: socket, end: now.advanced(milliseconds: Self.share)))
  }

  /// An address failed at once. The next one need not wait.
  package mutating func failed(with error: Int32, at now: MonotonicInstant) {
    errors.append(error)
    nextStart = now
  }

  /// A runner's socket failed. The caller closes it.
  package mutating func failed(socket: Int32, with error: Int32, at now: MonotonicInstant) {
    guard let place = runners.firstIndex(where: { $0.socket == socket }) else { return }
    runners.remove(at: place)
    failed(with: error, at: now)
  }

  /// A runner whose share is used up.
  package func late(_ now: MonotonicInstant) -> Int32? { runners.first { now >= $0.end }?.socket }

  package func address(of socket: Int32) -> HostAddress? { runners.first { $0.socket == socket }?.address }

  package var sockets: [Int32] { runners.map(\.socket) }

  package var isLost: Bool { waiting.isEmpty && runners.isEmpty }

  /// When something must be done even without an event; nil: nothing.
  package var wakeTime: MonotonicInstant? {
    (runners.map(\.end) + (waiting.isEmpty ? [] : [nextStart])).min()
  }
}
