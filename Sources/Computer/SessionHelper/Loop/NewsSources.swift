import Glibc

/// What the loop waits for, by name (poll(2)).
struct NewsSources {
  enum Source: Int, CaseIterable {
    case signals, recordFolder, processes, bus, worker, probe
  }

  /// One for each source, in their order. poll(2) passes over a negative descriptor.
  private var entries = Source.allCases.map { _ in pollfd(fd: -1, events: 0, revents: 0) }

  /// - Parameter descriptor: negative if the source is not there.
  mutating func listen(to source: Source, by descriptor: Int32, for events: Int16 = Int16(POLLIN)) {
    entries[source.rawValue] = pollfd(fd: descriptor, events: events, revents: 0)
  }

  /// Passes over a source from now on.
  mutating func ignore(_ source: Source) { entries[source.rawValue].fd = -1 }

  /// Milliseconds: how long a wait that the kernel refuses lasts all the same, at most.
  private static let pauseAfterFailure: Int64 = 1_000

  /// A poll(2) that fails (ENOMEM) finds no news, and takes its time all the same: otherwise the loop would spin until
  /// the kernel has memory again.
  ///
  /// - Returns: whether some source has news.
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
