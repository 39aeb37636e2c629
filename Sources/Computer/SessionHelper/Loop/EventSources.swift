import Glibc

/// The descriptors that the loop waits for, by name (poll(2)).
struct EventSources {
  enum Source: Int, CaseIterable {
    case signals, recordFolder, processes, bus, worker, probe
  }

  /// One entry for each source, in the order of the cases. poll(2) skips a negative descriptor.
  private var entries = Source.allCases.map { _ in pollfd(fd: -1, events: 0, revents: 0) }

  /// - Parameter descriptor: negative if there is no such source now.
  mutating func listen(to source: Source, by descriptor: Int32, for events: Int16 = Int16(POLLIN)) {
    entries[source.rawValue] = pollfd(fd: descriptor, events: events, revents: 0)
  }

  /// Skips a source from now on.
  mutating func ignore(_ source: Source) { entries[source.rawValue].fd = -1 }

  /// The longest pause after a poll(2) that failed, in milliseconds.
  private static let pauseAfterFailure: Int64 = 1_000

  /// Waits for events. If poll(2) fails (ENOMEM), it pauses and finds no events: without the pause the loop would spin
  /// until the kernel has memory again.
  ///
  /// - Returns: whether a source has an event.
  mutating func wait(milliseconds: Int64) -> Bool {
    let count = poll(&entries, nfds_t(entries.count), Int32(clamping: milliseconds))
    guard count < 0 else { return count > 0 }
    for place in entries.indices { entries[place].revents = 0 }
    if errno != EINTR { usleep(UInt32(min(max(milliseconds, 0), Self.pauseAfterFailure)) * 1_000) }
    return false
  }

  /// The events that the last wait found at a source; 0 if it found none.
  func news(of source: Source) -> Int16 { entries[source.rawValue].revents }
}
