import HostState
import PAMStacks

/// Findings about sealed passwords (`keyring = sealed`): which modules get them, and what is missing.
public struct KeyringFindings {
  /// The listed greeters of this computer, with their stacks.
  public let stacks: [StackJudgement]
  /// Whether iampass-keyring.socket is active.
  public let isListening: Bool

  public init(stacks: [StackJudgement], isListening: Bool) {
    self.stacks = stacks
    self.isListening = isListening
  }

  public var findings: [Finding] {
    let socket =
      isListening
      ? []
      : [
        Finding(
          .warning, .helper, "iampass-keyring.socket does not listen: keyrings stay locked after a sign-in by phone",
          hint: "systemctl enable --now iampass-keyring.socket")
      ]
    return socket + stacks.flatMap(findings)
  }

  private func findings(_ stack: StackJudgement) -> [Finding] {
    let lines = stack.auth.flatMap(\.lines)
    guard let place = lines.firstIndex(where: \.servesKeyring) else {
      return [
        Finding(
          .warning, .pam, "\(stack.service): the keyring stays locked, since no line has pam_iampass.so keyring",
          hint: "pam-auth-update --enable iampass-keyring")
      ]
    }
    // An unknown module counts: it could accept the sealed password as a factor.
    return lines[(place + 1)...].filter(\.isFactor).map { line in
      Finding(
        .problem, .pam,
        "\(stack.service): \(line.moduleName) would get the sealed password for its own question (\(line.place))",
        hint: "move the line of pam_iampass.so keyring below it")
    }
  }
}
