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
  /// Notes reports, all in one step. A power cut may undo this, but computers report again.
  func record(_ reports: [HostReport]) async throws
}

/// Reports that are not stored yet. A change of the list reaches all computers at once, and each then reports its new
/// version. These reports are stored together.
final class HostReports: Sendable {
  private struct State {
    var waiting: [String: HostReport] = [:]
    /// The stored reports: nearly every new report is the same.
    var stored: [String: HostReport] = [:]
  }

  private let state = Mutex(State())

  func note(_ report: HostReport) {
    state.withLock { state in
      let known = state.waiting[report.credential] ?? state.stored[report.credential]
      if known != report { state.waiting[report.credential] = report }
    }
  }

  func store(in storage: any HostReportStore) async throws {
    let taken = state.withLock { state in
      defer { state.waiting = [:] }
      return state.waiting
    }
    guard !taken.isEmpty else { return }
    do {
      try await storage.record(Array(taken.values))
      state.withLock { $0.stored.merge(taken) { _, newer in newer } }
    } catch {
      state.withLock { $0.waiting.merge(taken) { newer, _ in newer } }
      throw error
    }
  }
}
