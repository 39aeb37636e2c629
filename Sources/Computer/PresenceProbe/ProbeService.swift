import CHost
import Glibc
import PresenceLink
import ProgramPages

/// Answers requests one after the other. Only root may ask, because the answers show who is near.
public final class ProbeService {
  /// The most connections: the helper, and commands of an administrator.
  static let mostAskers = 8
  /// How long the process waits without a connection before it ends, in milliseconds. The socket starts it again.
  static let idleTime: Int64 = 60_000

  private let listening: Int32
  private var askers: Set<Int32> = []
  private var queue = ProbeQueue<Int32>()
  private var look: (asker: Int32, look: Look)?
  private var lastAsked: Int64

  /// - Parameter listening: a listening socket of packets (SOCK_SEQPACKET) that does not block.
  public init(listening: Int32) {
    self.listening = listening
    lastAsked = Self.now()
  }

  /// Returns after ``idleTime`` without a connection, or if the listening socket fails.
  public func run() {
    iampass_give_back_pages()
    while turn() {}
  }

  static func now() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_BOOTTIME, &time)
    return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
  }

  private func turn() -> Bool {
    let start = Self.now()
    if look == nil, let next = queue.next(now: start) { look = (next.asker, Look(next.request, now: start)) }
    finish(isReady: false)
    var entries = [pollfd(fd: listening, events: askers.count < Self.mostAskers ? Int16(POLLIN) : 0, revents: 0)]
    entries += askers.map { pollfd(fd: $0, events: isBusy($0) ? 0 : Int16(POLLIN), revents: 0) }
    if let look { entries.append(pollfd(fd: look.look.descriptor, events: Int16(POLLOUT | POLLIN), revents: 0)) }
    let count = poll(&entries, nfds_t(entries.count), wait())
    guard count >= 0 || errno == EINTR else { return false }
    guard count > 0 else { return !isIdle }
    if let look, let entry = entries.last, entry.fd == look.look.descriptor, entry.revents != 0 {
      finish(isReady: true)
    }
    for entry in entries.dropFirst() where entry.revents != 0 && askers.contains(entry.fd) { hear(entry.fd) }
    if entries[0].revents & Int16(POLLIN) != 0 { accept() }
    return entries[0].revents & Int16(POLLERR | POLLNVAL) == 0
  }

  private var isIdle: Bool { askers.isEmpty && look == nil && Self.now() - lastAsked >= Self.idleTime }

  private func isBusy(_ asker: Int32) -> Bool { look?.asker == asker || queue.isWaiting(asker) }

  /// Milliseconds until the next step is due; a minute at most.
  private func wait() -> Int32 {
    let now = Self.now()
    var due = now + Self.idleTime
    if let look { due = min(due, look.look.deadline) } else if let wake = queue.wake(now: now) { due = min(due, wake) }
    return Int32(min(max(0, due - now), Self.idleTime))
  }

  private func accept() {
    let asker = iampass_accept(listening)
    guard asker >= 0 else { return }
    // The socket's mode says the same.
    guard iampass_peer(asker).uid == 0 else {
      close(asker)
      return
    }
    askers.insert(asker)
  }

  private func hear(_ asker: Int32) {
    var bytes = [UInt8](repeating: 0, count: PacketWords.greatest + 1)
    let count = recv(asker, &bytes, bytes.count, Int32(MSG_DONTWAIT))
    if count < 0, errno == EAGAIN || errno == EINTR { return }
    guard count > 0, let request = ProbeRequest(bytes: Array(bytes.prefix(count))), !isBusy(asker),
      queue.add(request, of: asker)
    else { return leave(asker) }
    lastAsked = Self.now()
  }

  /// Closes a connection that has ended or has sent an invalid request. A look for it goes on, because the phone is
  /// already paged.
  private func leave(_ asker: Int32) {
    queue.remove(asker)
    askers.remove(asker)
    close(asker)
    // Another connection may soon get the descriptor's number.
    if let look, look.asker == asker { self.look = (-1, look.look) }
    lastAsked = Self.now()
  }

  private func finish(isReady: Bool) {
    let now = Self.now()
    guard let (asker, look) = look, let answer = look.answer(isReady: isReady, now: now) else { return }
    self.look = nil
    queue.rested(look.request.phone, from: now)
    guard askers.contains(asker) else { return }
    let reply = ProbeReply(phone: look.request.phone, answer: answer, milliseconds: now - look.began).bytes
    // There is always room for a packet: a connection has one request at a time.
    if send(asker, reply, reply.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT)) != reply.count { leave(asker) }
  }
}
