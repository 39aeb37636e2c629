import IAMPASSProtocol
import Synchronization

/// A computer's report about itself, sent when it asks for its users. It is only for administrators; the service does
/// not depend on it.
struct HostReport: Sendable, Equatable {
  private static let greatestSoftware = 40

  /// The id of the computer's credential.
  let credential: String
  /// The version of its package; empty if it does not say.
  let software: String
  /// The version of the computer's list of users; 0 if it has none yet.
  let listVersion: Int64
  /// The epoch of a signed list; nil for an unsigned one.
  var listEpoch: Int64? = nil

  /// Whether the text has the form of a Debian version.
  static func isSoftware(_ text: String) -> Bool {
    text.utf8.count <= greatestSoftware
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
          UInt8(ascii: "A")...UInt8(ascii: "Z"):
          true
        default: "+-.~".utf8.contains(byte)
        }
      }
  }
}

protocol HostReportStore: Sendable {
  /// Notes reports, all in one step. A power cut may undo this, but computers report again. Sign-ins wait meanwhile, so
  /// that many reports are noted in portions: see ``HostReports``.
  func record(_ reports: [HostReport]) async throws
}

/// Reports that are not stored yet. A change of the list reaches all computers at once, and each then reports its new
/// version. These reports are stored together, in portions.
final class HostReports: Sendable {
  /// The most reports that are stored in one transaction. Sign-ins wait meanwhile.
  static let portion = 100

  private struct State {
    var waiting: [String: HostReport] = [:]
  }

  private let state = Mutex(State())
  /// Stored reports: nearly every new report is the same. One that was dropped is stored again. Credentials come and go
  /// for as long as the service runs.
  private let stored: Remembered<HostReport>

  /// - Parameter greatestCount: the most stored reports that are remembered; a multiple of 2.
  init(remembering greatestCount: Int = 50_000) { stored = Remembered(greatestCount: greatestCount) }

  /// The number of stored reports that are remembered.
  var rememberedCount: Int { stored.count }

  func note(_ report: HostReport) {
    state.withLock { state in
      let known = state.waiting[report.credential] ?? stored[report.credential]
      if known != report { state.waiting[report.credential] = report }
    }
  }

  /// Stores the reports that wait, in portions. Sign-ins have their turn between two.
  ///
  /// If a portion fails or the task is cancelled, this portion and those after it wait for the next time.
  func store(in storage: any HostReportStore) async throws {
    var rest = take()[...]
    defer { giveBack(rest) }
    while !rest.isEmpty, !Task.isCancelled {
      let portion = Array(rest.prefix(Self.portion))
      try await storage.record(portion)
      remember(portion)
      rest = rest.dropFirst(portion.count)
    }
  }

  private func take() -> [HostReport] {
    state.withLock { state in
      defer { state.waiting = [:] }
      return state.waiting.values.sorted { $0.credential < $1.credential }
    }
  }

  private func remember(_ reports: [HostReport]) {
    for report in reports { stored.keep(report, as: report.credential) }
  }

  /// Has reports wait again, unless the computer has sent a newer one.
  private func giveBack(_ reports: ArraySlice<HostReport>) {
    state.withLock { state in
      for report in reports where state.waiting[report.credential] == nil {
        state.waiting[report.credential] = report
      }
    }
  }
}
