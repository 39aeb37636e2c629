import CommandSupport
import IAMPASSProtocol
import IAMPASSServer

/// Has administrators' phones sign the lists of users: computers that join from then on take no users that no
/// administrator's phone has signed.
struct SetupSigning {
  private let data: String
  /// If the phone of one administrator alone would sign: its loss would leave nobody.
  private let recovery: FirstRecoveryKey?

  /// Root's, before this process becomes another user.
  ///
  /// - Returns: nil if the setup is asked for no administrator.
  init?(_ answers: SetupAnswers, data: String, _ options: RecoveryKeyOptions) throws(CommandProblem) {
    guard !answers.administrators.isEmpty else { return nil }
    self.data = data
    let isAlone = try FirstRecoveryKey.signerCount(replacing: false, in: ["--data", data]) == 1
    recovery = isAlone ? try FirstRecoveryKey(options) : nil
  }

  func begin(_ storage: SQLiteStorage) async throws {
    if let recovery {
      Terminal.say("")
      try recovery.show { lines in
        for line in lines { Terminal.say(line) }
        if let failure = Terminal.outputError { throw CommandProblem.notPrinted(failure) }
      }
    }
    let outcome = try await storage.createAdministratorSet(
      replacing: false, recovery: recovery?.wish ?? .keep, at: storage.now())
    switch outcome {
    case .exists: try await tellOfRecovery(storage)
    case .made:
      Terminal.say("\nAdministrators' phones sign the lists of users from now on.")
      if let recovery { return Terminal.say(recovery.counts) }
      tellOfCommand("A key on paper, if they get lost:", "recovery-key")
    case .noPhone:
      tellOfCommand(
        "\nOnce the phones are registered, have them sign the lists of users, before computers join; it makes a key on "
          + "paper, too, if they get lost:", "start-signing --recovery-key")
    }
    if let recovery { Terminal.complain("warning: \(recovery.doesNotCount)") }
  }

  /// Who set it up before there was such a key may have none.
  private func tellOfRecovery(_ storage: SQLiteStorage) async throws {
    guard let set = try await storage.administratorSets().last?.set, set.keys.count == set.phones.count,
      Set(set.keys.map(\.name)).count == 1
    else { return }
    tellOfCommand("\nThe phone of one administrator alone signs here. A key on paper, if it gets lost:", "recovery-key")
  }

  private func tellOfCommand(_ why: String, _ command: String) {
    Terminal.say(why)
    Terminal.say("  iampass-server administrator \(command) --data \(data)")
  }
}
