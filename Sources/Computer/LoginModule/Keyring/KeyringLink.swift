import CHost
import Glibc
import HostState
import HostSystem
import IAMPASSProtocol

/// Asks iampass-keyring.socket. Every wait is bounded.
struct KeyringLink {
  /// The longest wait in milliseconds. A TPM takes about a second, and systemd must start the service.
  private static let patience: Int64 = 8_000

  let path: String

  /// Sends a request without waiting for a reply. False if there is no listener.
  func send(_ request: KeyringRequest) -> Bool {
    guard let connection = connect(request) else { return false }
    close(connection)
    return true
  }

  /// Nil if no password is sealed, or the service does not answer in time.
  func password(of user: UnixUsername) -> Secret? {
    guard let connection = connect(KeyringRequest(user: user, act: .open)) else { return nil }
    defer { close(connection) }
    let end = MonotonicInstant.now().advanced(milliseconds: Self.patience)
    var buffer = [UInt8](repeating: 0, count: KeyringRequest.greatestLength)
    var count = 0
    defer { buffer.withUnsafeMutableBytes { explicit_bzero($0.baseAddress!, $0.count) } }
    while count < buffer.count {
      // SAFETY: `count` is less than the buffer's size, so that the pointer stays inside.
      let received = buffer.withUnsafeMutableBytes { recv(connection, $0.baseAddress! + count, $0.count - count, 0) }
      if received == 0 { return KeyringReply.password(decoding: Array(buffer.prefix(count))) }
      if received > 0 {
        count += received
        continue
      }
      guard errno == EAGAIN || errno == EINTR else { return nil }
      let left = end.milliseconds(since: .now())
      var entry = pollfd(fd: connection, events: Int16(POLLIN), revents: 0)
      iampass_clear_vector_registers()
      guard left > 0, poll(&entry, 1, Int32(clamping: left)) >= 0 || errno == EINTR else { return nil }
    }
    return nil
  }

  /// Connects and sends. The buffer of a new connection has room for a whole request.
  private func connect(_ request: KeyringRequest) -> Int32? {
    guard var bytes = request.encoded() else { return nil }
    defer { bytes.withUnsafeMutableBytes { explicit_bzero($0.baseAddress!, $0.count) } }
    let connection = iampass_connect(path)
    guard connection >= 0 else { return nil }
    guard iampass_peer(connection).uid == 0,
      CHost.send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count,
      shutdown(connection, Int32(SHUT_WR)) == 0
    else {
      close(connection)
      return nil
    }
    return connection
  }
}
