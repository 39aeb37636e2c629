import CHost
import CommandSupport
import Glibc
import HostSystem
import PresenceLink

/// Asks the probe to look for one phone.
struct ProbeCall {
  static let path = ProbeRequest.socket
  /// The longest wait for an answer, in milliseconds. A look takes 8 s at most. One of the helper's looks may come
  /// first, with a pause for the phone after it.
  private static let patience: Int64 = 25_000

  let path: String
  let interrupt: Interrupt

  /// - Throws: if the probe does not answer, or if the user pressed Ctrl-C. Any result of the look is returned.
  func look(_ request: ProbeRequest) throws(CommandProblem) -> ProbeReply {
    let descriptor = try connect()
    defer { close(descriptor) }
    let question = request.bytes
    guard send(descriptor, question, question.count, Int32(MSG_NOSIGNAL)) == question.count else {
      throw .presence(.noProbe(path: path, errno))
    }
    switch interrupt.wait(milliseconds: Self.patience, input: descriptor) {
    case .interrupted: throw .interrupted
    case .timeOver: throw .presence(.probeFailed)
    case .input: break
    }
    var bytes = [UInt8](repeating: 0, count: PacketWords.greatest + 1)
    let count = recv(descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT))
    guard count > 0, let reply = ProbeReply(bytes: Array(bytes.prefix(count))), reply.phone == request.phone else {
      throw .presence(.probeFailed)
    }
    return reply
  }

  private func connect() throws(CommandProblem) -> Int32 {
    let descriptor = iampass_connect_packets(path)
    guard descriptor >= 0 else { throw .presence(.noProbe(path: path, errno)) }
    // systemd listens for the probe, as root. Answers of other users do not count.
    guard iampass_peer(descriptor).uid == 0 else {
      close(descriptor)
      throw .presence(.noProbe(path: path, EPERM))
    }
    return descriptor
  }
}
