/// The results that matter to a stack, by their names in controls (pam.conf(5)).
public enum PAMResult: String, Sendable, CaseIterable {
  case success
  case authErr = "auth_err"
  case authinfoUnavail = "authinfo_unavail"
  case userUnknown = "user_unknown"
  case maxtries
  case permDenied = "perm_denied"
  case abort
  case serviceErr = "service_err"
  case sessionErr = "session_err"
  case ignore
  /// The module's file is missing.
  case moduleUnknown = "module_unknown"
}

/// Runs a stack as libpam's dispatcher does, with given answers of the modules (pam_dispatch.c of Linux-PAM 1.5).
public struct PAMDispatch {
  private enum Action: Equatable {
    case ignore, bad, die, ok, done, reset
    case jump(Int)
  }

  /// The result so far: none, a success, or a failure that stays.
  private enum Impression { case undefined, positive, negative }

  private let answer: (PAMLine) -> PAMResult
  private var impression = Impression.undefined
  private var isSuccess = false
  /// The lines that were run, in order.
  public private(set) var asked: [PAMLine] = []

  public init(answer: @escaping (PAMLine) -> PAMResult) { self.answer = answer }

  /// Whether the stack ends in PAM_SUCCESS.
  public mutating func run(_ stack: [PAMEntry]) -> Bool {
    impression = .undefined
    isSuccess = false
    asked = []
    walk(stack)
    return impression == .positive && isSuccess
  }

  private mutating func walk(_ stack: [PAMEntry]) {
    let start = (impression, isSuccess)
    var index = 0
    while index < stack.count {
      defer { index += 1 }
      switch stack[index] {
      case .substack(let entries): walk(entries)
      case .module(let line):
        asked.append(line)
        let result = answer(line)
        switch Self.action(of: line.control, for: result) {
        case .ignore: break
        case .ok: note(result)
        case .done:
          note(result)
          if impression == .positive { return }
        case .bad: fail()
        case .die:
          fail()
          return
        case .reset: (impression, isSuccess) = start
        case .jump(let count):
          // A jump past the end is an error of the stack, which then fails.
          guard index + count < stack.count else { return fail() }
          index += count
        }
      }
    }
  }

  private mutating func note(_ result: PAMResult) {
    guard impression == .undefined || impression == .positive && isSuccess, result != .ignore else { return }
    if impression == .undefined, result == .success { impression = .positive }
    isSuccess = result == .success
  }

  private mutating func fail() {
    impression = .negative
    isSuccess = false
  }

  private static func action(of control: String, for result: PAMResult) -> Action {
    switch control.lowercased() {
    case "required": return result == .success ? .ok : result == .ignore ? .ignore : .bad
    case "requisite": return result == .success ? .ok : result == .ignore ? .ignore : .die
    case "sufficient": return result == .success ? .done : .ignore
    case "optional": return result == .success ? .ok : .ignore
    default: return bracketed(control, result)
    }
  }

  /// `[value=action …]`; results that are not named are `bad`.
  private static func bracketed(_ control: String, _ result: PAMResult) -> Action {
    var byDefault = Action.bad
    for pair in pairs(control) {
      if pair.value == result.rawValue { return pair.action }
      if pair.value == "default" { byDefault = pair.action }
    }
    return byDefault
  }

  private static func pairs(_ control: String) -> [(value: String, action: Action)] {
    control.filter { $0 != "[" && $0 != "]" }.lowercased().split(separator: " ").compactMap { word in
      let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
      return parts.count == 2 ? action(named: parts[1]).map { (parts[0], $0) } : nil
    }
  }

  fileprivate static func numbers(_ control: String) -> [(word: String, count: Int)] {
    pairs(control).compactMap { value, action in
      if case .jump(let count) = action { ("\(value)=\(count)", count) } else { nil }
    }
  }

  private static func action(named name: String) -> Action? {
    switch name {
    case "ignore": .ignore
    case "bad": .bad
    case "die": .die
    case "ok": .ok
    case "done": .done
    case "reset": .reset
    default: Int(name).flatMap { $0 > 0 ? .jump($0) : nil }
    }
  }
}

extension PAMLine {
  /// The numbers in the line's control, each with its word, such as `success=2`.
  package var numbers: [(word: String, count: Int)] { PAMDispatch.numbers(control) }

  /// Whether a success of this line ends the stack or skips lines.
  public var passesOverOnSuccess: Bool {
    let probe = PAMLine(kind: kind, control: control, module: "probe", arguments: [], file: file, line: line)
    let after = PAMLine(kind: kind, control: "required", module: "after", arguments: [], file: file, line: line)
    var dispatch = PAMDispatch { _ in .success }
    _ = dispatch.run([.module(probe)] + Array(repeating: .module(after), count: 64))
    return dispatch.asked.count < 65
  }
}
