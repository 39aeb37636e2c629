import PAMStacks

/// A number in a line's control, and its target: `[success=2 default=ignore]` skips two entries (pam.conf(5)).
struct PAMJump {
  let line: PAMLine
  /// The word as written, such as `success=2`.
  let word: String
  let count: Int
  let skipped: [PAMEntry]
  /// The line at which the stack continues; nil at its end.
  let landing: PAMLine?
  /// Whether the jump leads past the end of the stack, where libpam refuses.
  let isPastEnd: Bool

  /// - Parameter module: the module's name, such as `pam_iampass`.
  func skips(_ module: String) -> Bool { skipped.flatMap(\.lines).contains { $0.moduleName == module } }
}

extension [PAMEntry] {
  /// All jumps, those of substacks too, in order.
  var jumps: [PAMJump] {
    indices.flatMap { index -> [PAMJump] in
      switch self[index] {
      case .substack(let entries): entries.jumps
      case .module(let line): line.numbers.map { jump(from: index, line, $0.word, $0.count) }
      }
    }
  }

  private func jump(from index: Int, _ line: PAMLine, _ word: String, _ count: Int) -> PAMJump {
    let rest = self[(index + 1)...]
    return PAMJump(
      line: line, word: word, count: count, skipped: Array(rest.prefix(count)),
      landing: rest.dropFirst(count).first?.lines.first, isPastEnd: count > rest.count)
  }

  /// The same stack with another control in each occurrence of the line.
  func replacing(_ line: PAMLine, control: String) -> [PAMEntry] {
    map { entry in
      switch entry {
      case .substack(let entries): .substack(entries.replacing(line, control: control))
      case .module(line):
        .module(
          PAMLine(
            kind: line.kind, control: control, module: line.module, arguments: line.arguments, file: line.file,
            line: line.line))
      case .module: entry
      }
    }
  }
}
