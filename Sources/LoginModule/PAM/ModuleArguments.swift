import HostState
import IAMPASSProtocol

/// The words after `pam_iampass.so` in a PAM file.
struct ModuleArguments: Equatable {
  /// Shorter than sshd's LoginGraceTime of 120 s, longer than a slow network's first answer; in seconds.
  static let timeoutBounds: ClosedRange<Int64> = 5...90

  var configurationPath = Configuration.path
  /// Nil: `approval_timeout` of the configuration.
  var timeout: Int64?
  var prompt = PromptMode.auto
  var methods: [AuthenticationMethod] = []
  var failsOpen = false
  var isDebugging = false
  /// Words that this version does not know, for the log.
  var unknown: [String] = []

  init() {}

  /// A bad value refuses, an unknown word is kept for a warning.
  init(_ words: [String]) throws(Misconfiguration) {
    for word in words {
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      guard try read(parts[0], parts.count > 1 ? parts[1] : nil) else { throw .badArgument(word) }
    }
  }

  /// False where the value is bad.
  private mutating func read(_ name: String, _ value: String?) throws(Misconfiguration) -> Bool {
    switch (name, value) {
    case ("config", let path?):
      configurationPath = path
      return path.hasPrefix("/")
    case ("timeout", let text?):
      timeout = TimeSpan.seconds(text).flatMap { Self.timeoutBounds.contains($0) ? $0 : nil }
      return timeout != nil
    case ("prompt", let text?):
      guard let mode = PromptMode(rawValue: text) else { return false }
      prompt = mode
    case ("methods", let text?):
      let names = text.split(separator: ",", omittingEmptySubsequences: false)
      methods = names.compactMap { AuthenticationMethod(rawValue: String($0)) }
      return methods.count == names.count
    case ("fail", let text?):
      failsOpen = text == "open"
      return ["open", "closed"].contains(text)
    case ("debug", nil): isDebugging = true
    case ("config", nil), ("timeout", nil), ("prompt", nil), ("methods", nil), ("fail", nil): return false
    default: unknown.append(name)
    }
    return true
  }
}
