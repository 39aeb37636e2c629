import PAMStacks

/// The effect of a jump that skips the phone's line, or lines that are about to be written.
struct JumpFinding {
  let service: String
  /// The text. It is equal for all services in which the jump has the same effect.
  let text: String
  let hint: String

  var finding: Finding { Finding(.problem, .pam, "\(service): \(text)", hint: hint) }
}

/// Jumps count lines. One more line between a jump and its target changes the target.
extension StackJudgement {
  private enum Outcome {
    /// Users get in without phone and password.
    case opensToAnybody
    /// All users are refused.
    case refuses
    case opensByPassword
    case asksMore

    var text: String {
      switch self {
      case .opensToAnybody: ": whoever it applies to gets in, with a wrong password too"
      case .refuses: ": whoever it applies to is refused, with the right password too"
      case .opensByPassword: ": whoever it applies to gets in by the password alone"
      case .asksMore: ""
      }
    }
  }

  /// Jumps that skip the phone's line, and then let all users in or refuse all.
  ///
  /// - Parameter blocks: the parts of the file that pam-auth-update manages; nil if there are none.
  func crossingJumps(_ blocks: ManagedBlocks?) -> [JumpFinding] {
    auth.jumps.compactMap { jump -> JumpFinding? in
      let asking = jump.skipped.firstIndex { $0.lines.contains { ownLines.contains($0) } }
      guard let asking, let phone = jump.skipped[asking].lines.first(where: { ownLines.contains($0) }) else {
        return nil
      }
      let outcome = outcome(of: jump)
      switch outcome {
      case .opensByPassword, .asksMore: return nil
      // An administrator who has written both lines may intend it.
      case .refuses where blocks?.manages(phone) != true: return nil
      case .opensToAnybody, .refuses:
        return JumpFinding(
          service: service, text: "\(named(jump)) leads past pam_iampass.so to \(place(jump))\(outcome.text)",
          hint: "count again: the line of pam_iampass.so counts too, and \(asking + 1) skips no more than it")
      }
    }
  }

  /// Jumps that will skip other lines after the change.
  func movedJumps(_ planned: PlannedLines) -> [JumpFinding] {
    moved(auth, planned) { StackJudgement(service: service, auth: $0, session: []).outcome(of: $1).text }
  }

  /// Jumps of session lines that will skip other lines after the change.
  func movedSessionJumps(_ planned: PlannedLines) -> [JumpFinding] {
    moved(session, planned) { $1.skips(Self.module) ? Self.unwatched : "" }
  }

  /// Jumps that skip the line that makes the helper watch the session.
  func crossingSessionJumps() -> [JumpFinding] {
    session.jumps.filter { $0.skips(Self.module) }.map { jump in
      JumpFinding(
        service: service, text: "\(named(jump)) leads past pam_iampass.so to \(place(jump))\(Self.unwatched)",
        hint: "count again: the line of pam_iampass.so must not be skipped")
    }
  }

  private static let unwatched = ": nobody watches the session of whoever it applies to"

  /// - Parameter effect: the effect of a jump in the changed stack.
  private func moved(
    _ stack: [PAMEntry], _ planned: PlannedLines, effect: ([PAMEntry], PAMJump) -> String
  ) -> [JumpFinding] {
    let after = planned.inserted(into: stack)
    let later = after.jumps.filter { !PlannedLines.isUnwritten($0.line) }
    return zip(stack.jumps, later).compactMap { now, then -> JumpFinding? in
      guard !planned.blocks.manages(now.line), skips(now) != skips(then) || now.isPastEnd != then.isPastEnd else {
        return nil
      }
      return JumpFinding(
        service: service,
        text: "\(named(now)) leads to \(place(now)), and will lead to \(place(then))\(effect(after, then))",
        hint: "take the line out, and put it back with the number for the lines that are there then")
    }
  }

  /// The existing lines that the jump skips.
  private func skips(_ jump: PAMJump) -> [PAMLine] {
    jump.skipped.flatMap(\.lines).filter { !PlannedLines.isUnwritten($0) }
  }

  private func outcome(of jump: PAMJump) -> Outcome {
    func stack(_ control: String) -> StackJudgement {
      StackJudgement(service: service, auth: auth.replacing(jump.line, control: control), session: [])
    }
    let taken = stack("[default=\(jump.count)]")
    if jump.line.provesNothing, refusals.contains(where: { taken.opens($0.0, passwordRight: false) }) {
      return .opensToAnybody
    }
    let answers: [PAMResult] = [.success, .authinfoUnavail]
    func opens(_ stack: StackJudgement) -> Bool { answers.contains { stack.opens($0, passwordRight: true) } }
    if opens(stack("[default=ignore]")), !opens(taken) { return .refuses }
    return taken.opens(denial, passwordRight: true) ? .opensByPassword : .asksMore
  }

  private func named(_ jump: PAMJump) -> String { "\(jump.word) at \(jump.line.place)" }

  private func place(_ jump: PAMJump) -> String {
    guard let line = jump.landing else { return jump.isPastEnd ? "a place past the end" : "the end of the stack" }
    return PlannedLines.isUnwritten(line) ? "the new line of \(line.module)" : "\(line.module) (\(line.place))"
  }
}
