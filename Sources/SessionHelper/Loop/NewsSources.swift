import Glibc

/// What the loop waits for, by name (poll(2)).
struct NewsSources {
  enum Source: Int, CaseIterable {
    case signals, recordFolder, processes, bus, worker
  }

  /// One for each source, in their order. poll(2) passes over a negative descriptor.
  private var entries = Source.allCases.map { _ in pollfd(fd: -1, events: 0, revents: 0) }

  /// - Parameter descriptor: negative if the source is not there.
  mutating func listen(to source: Source, by descriptor: Int32, for events: Int16 = Int16(POLLIN)) {
    entries[source.rawValue] = pollfd(fd: descriptor, events: events, revents: 0)
  }

  /// Passes over a source from now on.
  mutating func ignore(_ source: Source) { entries[source.rawValue].fd = -1 }

  /// - Returns: whether some source has news.
  mutating func wait(milliseconds: Int64) -> Bool {
    poll(&entries, nfds_t(entries.count), Int32(clamping: milliseconds)) > 0
  }

  /// The events that the last wait found at a source; 0 if it found none.
  func news(of source: Source) -> Int16 { entries[source.rawValue].revents }
}
