import IAMPASSProtocol

/// One line of the report: the area, the result, and the repair.
public struct Finding: Sendable, Equatable {
  /// In the order of severity. The raw value is the printed word.
  public enum Level: String, Sendable, Comparable, CaseIterable {
    case ok, warning, problem

    public static func < (left: Self, right: Self) -> Bool { left.exitCode < right.exitCode }

    /// The exit code of a report in which this is the worst finding.
    public var exitCode: Int32 {
      switch self {
      case .ok: 0
      case .warning: 1
      case .problem: 2
      }
    }
  }

  /// The part of the setup that a finding is about. Scripts can filter by it.
  public enum Area: String, Sendable, CaseIterable {
    case files, configuration, network, service, helper, pam, sshd, users, sessions
  }

  public let level: Level
  public let area: Area
  public let text: String
  /// The command or line that repairs it; nil if there is none.
  public let hint: String?

  public init(_ level: Level, _ area: Area, _ text: String, hint: String? = nil) {
    self.level = level
    self.area = area
    self.text = text
    self.hint = hint
  }
}

/// All findings of the doctor.
public struct CheckReport: Sendable, Equatable {
  public private(set) var findings: [Finding] = []

  public init() {}

  public mutating func add(_ finding: Finding) { findings.append(finding) }
  public mutating func add(_ more: [Finding]) { findings += more }

  public var worst: Finding.Level { findings.map(\.level).max() ?? .ok }

  public func count(_ level: Finding.Level) -> Int { findings.count { $0.level == level } }

  /// The counts, such as `12 ok, 1 warning, 0 problems`.
  public var summary: String {
    "\(count(.ok)) ok, \(Words.counted(count(.warning), "warning")), \(Words.counted(count(.problem), "problem"))"
  }

  public var json: JSON {
    .object([
      "result": .string(worst.rawValue),
      "findings": .array(
        findings.map {
          .object([
            "level": .string($0.level.rawValue), "area": .string($0.area.rawValue),
            "text": .string(DisplayText.sanitized($0.text, limit: 1_000)),
            "hint": $0.hint.map { .string(DisplayText.sanitized($0, limit: 1_000)) },
          ])
        }),
    ])
  }
}

/// Helps to put numbers and lists into sentences.
public enum Words {
  /// A number with its noun, such as `1 day` or `2 days`.
  public static func counted(_ count: Int, _ word: String) -> String { "\(count) \(word)" + (count == 1 ? "" : "s") }

  /// A list such as `a, b or c`.
  public static func either(_ words: [String]) -> String {
    guard let last = words.last, words.count > 1 else { return words.first ?? "" }
    return words.dropLast().joined(separator: ", ") + " or " + last
  }
}
