import IAMPASSProtocol

/// One line of the doctor: what was looked at, how it is, and what mends it.
public struct Finding: Sendable, Equatable {
  /// In the order of how much they matter; the raw value is the word that is printed.
  public enum Level: String, Sendable, Comparable, CaseIterable {
    case ok, warning, problem

    public static func < (left: Self, right: Self) -> Bool { left.exitCode < right.exitCode }

    /// The exit status of a report in which this is the worst finding.
    public var exitCode: Int32 {
      switch self {
      case .ok: 0
      case .warning: 1
      case .problem: 2
      }
    }
  }

  /// What was looked at; scripts choose by it.
  public enum Area: String, Sendable, CaseIterable {
    case files, configuration, network, service, helper, pam, sshd, users, sessions
  }

  public let level: Level
  public let area: Area
  public let text: String
  /// The command or line that mends it, if there is one.
  public let hint: String?

  public init(_ level: Level, _ area: Area, _ text: String, hint: String? = nil) {
    self.level = level
    self.area = area
    self.text = text
    self.hint = hint
  }
}

/// All that the doctor found.
public struct CheckReport: Sendable, Equatable {
  public private(set) var findings: [Finding] = []

  public init() {}

  public mutating func add(_ finding: Finding) { findings.append(finding) }
  public mutating func add(_ more: [Finding]) { findings += more }

  public var worst: Finding.Level { findings.map(\.level).max() ?? .ok }

  public func count(_ level: Finding.Level) -> Int { findings.count { $0.level == level } }

  /// `12 ok, 1 warning, 0 problems`.
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

/// Words of a sentence.
public enum Words {
  /// `1 day`, `2 days`.
  public static func counted(_ count: Int, _ word: String) -> String { "\(count) \(word)" + (count == 1 ? "" : "s") }

  /// `a, b or c`.
  public static func either(_ words: [String]) -> String {
    guard let last = words.last, words.count > 1 else { return words.first ?? "" }
    return words.dropLast().joined(separator: ", ") + " or " + last
  }
}
