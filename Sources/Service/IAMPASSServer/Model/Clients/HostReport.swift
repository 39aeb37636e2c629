import IAMPASSProtocol
import Synchronization

/// What a computer says of itself as it asks for its users: for administrators alone, nothing depends on it.
struct HostReport: Sendable, Equatable {
  private static let greatestSoftware = 40

  /// The id of the computer's credential.
  let credential: String
  /// The version of its package; empty: it does not say.
  let software: String
  /// The version of the list of users that it has; 0: none yet.
  let listVersion: Int64
  /// A signed list's; nil for a list of the service's own word.
  var listEpoch: Int64? = nil

  /// As Debian writes versions.
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
  /// Notes what computers say of themselves, all in one step. A power cut may undo this: they say it again.
  func note(_ reports: [HostReport]) async throws
}

/// Reports that are not stored yet. A change of the list reaches all computers at once, and each then reports its new
/// version: they are stored together.
final class HostReports: Sendable {
  private struct State {
    var waiting: [String: HostReport] = [:]
    /// Nearly every report says what is known.
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
      try await storage.note(Array(taken.values))
      state.withLock { $0.stored.merge(taken) { _, newer in newer } }
    } catch {
      state.withLock { $0.waiting.merge(taken) { newer, _ in newer } }
      throw error
    }
  }
}
