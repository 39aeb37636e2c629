import CCurl
import Glibc
import HostSystem
import WorkerLink

/// Makes the TCP connections that libcurl needs: one at a time, by a race between the host's addresses.
///
/// libcurl 7.88 tries the addresses of a family one after the other, and halves the remaining time each time. Here it
/// only looks the name up and lists the addresses, since it gets no socket. It runs a second time with the winner's
/// socket. TLS begins after that, so that it checks whichever address won.
final class Connector {
  private let events: SocketEvents
  /// The request whose name is looked up, or whose addresses race. The others wait: they may share its connection.
  private(set) var leader: Transfer?
  private var race: AddressRace?
  /// The address of the last connection over which a request was sent. It lives as long as this worker: a login's
  /// worker is confined, and must not decide for the next login.
  private var proven: HostAddress?
  /// Requests that wait for the leader's connection.
  private var followers: [UInt32] = []

  init(_ events: SocketEvents) { self.events = events }

  /// Whether this request may look for a connection of its own now.
  func mayLead(_ transfer: Transfer) -> Bool {
    if leader == nil { leader = transfer }
    return leader === transfer
  }

  func wait(_ id: UInt32) { followers.append(id) }

  /// Requests that may try again.
  func takeReady() -> [UInt32] {
    leader == nil ? takeFollowers() : []
  }

  /// All requests that wait, such as for a name that does not exist.
  func takeFollowers() -> [UInt32] {
    defer { followers = [] }
    return followers
  }

  /// The request needs no race any more: libcurl has its socket, for which others may wait there, or it ended.
  func resign(_ transfer: Transfer) {
    guard leader === transfer else { return }
    leader = nil
    end()
  }

  func proved(_ address: HostAddress) { proven = address }

  /// The address took a connection, and did not serve.
  func disproved(_ address: HostAddress) { if proven == address { proven = nil } }

  func start(_ addresses: [HostAddress]) { race = AddressRace(addresses, proven: proven, at: .now()) }

  /// When `advance` must be called again, even without an event.
  var wakeTime: MonotonicInstant? { race?.wakeTime }

  enum Outcome {
    /// The leader has the winner's socket, which is closed with it.
    case won
    /// No address took a connection.
    case lost(TransportError)
  }

  /// Starts and gives up addresses. Nil: the race goes on, or there is none.
  func advance() -> Outcome? {
    guard race != nil else { return nil }
    for socket in events.takeOwnEvents() {
      guard let address = race?.address(of: socket) else { continue }
      let error = iampass_connect_state(socket)
      if error == 0 { return win(socket, address) }
      if error != EINPROGRESS { giveUp(socket, error) }
    }
    while let socket = race?.late(.now()) { giveUp(socket, ETIMEDOUT) }
    while let address = race?.due(.now()) {
      let socket = address.bytes.withUnsafeBytes {
        // SAFETY: the kernel reads as many bytes as are said to be there.
        iampass_connect_begin(address.family, $0.baseAddress, UInt32($0.count))
      }
      if socket < 0 {
        race?.failed(with: -socket, at: .now())
      } else if events.watchOwn(socket) {
        race?.began(address, socket: socket, at: .now())
      } else {
        Glibc.close(socket)
        race?.failed(with: ENOMEM, at: .now())
      }
    }
    guard let race, race.isLost else { return nil }
    self.race = nil
    return .lost(TransportError(connectErrors: race.errors))
  }

  private func win(_ socket: Int32, _ address: HostAddress) -> Outcome {
    events.forgetOwn(socket)
    end(except: socket)
    if let leader { leader.takeConnection(socket, address) } else { Glibc.close(socket) }
    return .won
  }

  private func giveUp(_ socket: Int32, _ error: Int32) {
    events.forgetOwn(socket)
    Glibc.close(socket)
    race?.failed(socket: socket, with: error, at: .now())
  }

  private func end(except winner: Int32 = -1) {
    for socket in race?.sockets ?? [] where socket != winner {
      events.forgetOwn(socket)
      Glibc.close(socket)
    }
    race = nil
  }
}
