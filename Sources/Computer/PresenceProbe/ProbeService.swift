import CHost
import Glibc
import PresenceLink
import ProgramPages

/// Answers requests one after the other. Only root may ask, because the answers show who is near.
public final class ProbeService {
  /// The most connections: the helper, and commands of an administrator.
  static let mostClients = 8
  /// How long the process waits without a connection before it ends, in milliseconds. The socket starts it again.
  static let idleTime: Int64 = 60_000

  private let listening: Int32
  private var clients: Set<Int32> = []
  private var queue = ProbeQueue<Int32>()
  private var attempt: (client: Int32, attempt: PageAttempt)?
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
    if attempt == nil, let next = queue.next(now: start) {
      attempt = (next.client, PageAttempt(next.request, now: start))
    }
    finish(isReady: false)
    var entries = [pollfd(fd: listening, events: clients.count < Self.mostClients ? Int16(POLLIN) : 0, revents: 0)]
    entries += clients.map { pollfd(fd: $0, events: isBusy($0) ? 0 : Int16(POLLIN), revents: 0) }
    if let attempt {
      entries.append(pollfd(fd: attempt.attempt.descriptor, events: Int16(POLLOUT | POLLIN), revents: 0))
    }
    let count = poll(&entries, nfds_t(entries.count), wait())
    guard count >= 0 || errno == EINTR else { return false }
    guard count > 0 else { return !isIdle }
    if let attempt, let entry = entries.last, entry.fd == attempt.attempt.descriptor, entry.revents != 0 {
      finish(isReady: true)
    }
    for entry in entries.dropFirst() where entry.revents != 0 && clients.contains(entry.fd) { receive(entry.fd) }
    if entries[0].revents & Int16(POLLIN) != 0 { accept() }
    return entries[0].revents & Int16(POLLERR | POLLNVAL) == 0
  }

  private var isIdle: Bool { clients.isEmpty && attempt == nil && Self.now() - lastAsked >= Self.idleTime }

  private func isBusy(_ client: Int32) -> Bool { attempt?.client == client || queue.isWaiting(client) }

  /// Milliseconds until the next step is due; a minute at most.
  private func wait() -> Int32 {
    let now = Self.now()
    var due = now + Self.idleTime
    if let attempt {
      due = min(due, attempt.attempt.deadline)
    } else if let wake = queue.wake(now: now) {
      due = min(due, wake)
    }
    return Int32(min(max(0, due - now), Self.idleTime))
  }

  private func accept() {
    let client = iampass_accept(listening)
    guard client >= 0 else { return }
    // The socket's mode says the same.
    guard iampass_peer(client).uid == 0 else {
      close(client)
      return
    }
    clients.insert(client)
  }

  private func receive(_ client: Int32) {
    var bytes = [UInt8](repeating: 0, count: PacketWords.greatest + 1)
    let count = recv(client, &bytes, bytes.count, Int32(MSG_DONTWAIT))
    if count < 0, errno == EAGAIN || errno == EINTR { return }
    guard count > 0, let request = ProbeRequest(bytes: Array(bytes.prefix(count))), !isBusy(client),
      queue.add(request, of: client)
    else { return leave(client) }
    lastAsked = Self.now()
  }

  /// Closes a connection that has ended or has sent an invalid request. An attempt for it goes on, because the phone is
  /// already paged.
  private func leave(_ client: Int32) {
    queue.remove(client)
    clients.remove(client)
    close(client)
    // Another connection may soon get the descriptor's number.
    if let attempt, attempt.client == client { self.attempt = (-1, attempt.attempt) }
    lastAsked = Self.now()
  }

  private func finish(isReady: Bool) {
    let now = Self.now()
    guard let (client, attempt) = attempt, let answer = attempt.answer(isReady: isReady, now: now) else { return }
    self.attempt = nil
    queue.rested(attempt.request.phone, from: now)
    guard clients.contains(client) else { return }
    let reply = ProbeReply(phone: attempt.request.phone, answer: answer, milliseconds: now - attempt.began).bytes
    // There is always room for a packet: a connection has one request at a time.
    if send(client, reply, reply.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT)) != reply.count { leave(client) }
  }
}
