import PAMStacks

/// The parts of a file that pam-auth-update(8) writes. It keeps the other lines, which are an administrator's.
public struct ManagedBlocks: Sendable {
  /// The comments that pam-auth-update searches for. There are two parts, each between two comments.
  private static let comments = [
    #"# here are the per-package modules (the "Primary" block)"#, "# here's the fallback if no module succeeds",
    #"# and here are more per-package modules (the "Additional" block)"#, "# end of pam-auth-update config",
  ]

  public let path: String
  /// The line numbers of the comments above and below each part.
  let primary: Range<Int>
  let additional: Range<Int>

  /// - Parameter text: the file's bytes. Without all comments in order pam-auth-update changes nothing.
  public init?(path: String, text: [UInt8]) {
    var numbers: [Int] = []
    var number = 0
    for line in text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      number += 1
      if numbers.count < Self.comments.count, line.starts(with: Self.comments[numbers.count].utf8) {
        numbers.append(number)
      }
    }
    guard numbers.count == Self.comments.count else { return nil }
    self.path = path
    primary = numbers[0]..<numbers[1]
    additional = numbers[2]..<numbers[3]
  }

  /// Whether pam-auth-update has written the line, and adjusts its jumps.
  func manages(_ line: PAMLine) -> Bool {
    line.file == path && (primary.contains(line.line) || additional.contains(line.line))
  }
}

/// Lines that `enable` is about to write into a file. They move the targets of jumps across them.
public struct PlannedLines: Sendable {
  /// The line number of a planned line.
  private static let unwritten = 0

  let blocks: ManagedBlocks
  let primary: [PAMLine]
  let additional: [PAMLine]

  /// - Parameters:
  ///   - stack: the auth lines of the blocks' file as they are now.
  ///   - hasKeyring: whether the line that passes on sealed passwords is wanted.
  ///   - securityKey: a profile that is not switched on yet; nil: its lines stay as they are.
  public init(_ blocks: ManagedBlocks, stack: [PAMEntry], hasKeyring: Bool, securityKey: SecurityKeyProfile?) {
    let own = stack.flatMap(\.lines).filter { $0.moduleName == StackJudgement.module }
    let phone = own.contains { !$0.servesKeyring } ? "" : "\tsufficient\tpam_iampass.so\n"
    let keyring = hasKeyring && !own.contains(where: \.servesKeyring) ? "\toptional\tpam_iampass.so keyring\n" : ""
    let key = securityKey.map { ($0.place, $0.text.replacing("success=end", with: "success=done")) }
    self.blocks = blocks
    primary = Self.lines("auth", (key?.0 == .instead ? key?.1 ?? "" : "") + phone, path: blocks.path)
    additional = Self.lines("auth", (key?.0 == .second ? key?.1 ?? "" : "") + keyring, path: blocks.path)
  }

  /// - Parameter session: the session lines of the blocks' file as they are now.
  public init(_ blocks: ManagedBlocks, session: [PAMEntry]) {
    let isOn = session.flatMap(\.lines).contains { $0.moduleName == StackJudgement.module }
    self.blocks = blocks
    primary = []
    additional =
      isOn ? [] : Self.lines("session", ProfileLines.session.replacing("session ", with: "\t"), path: blocks.path)
  }

  var isEmpty: Bool { primary.isEmpty && additional.isEmpty }

  static func isUnwritten(_ line: PAMLine) -> Bool { line.line == unwritten }

  /// - Parameter profile: the profile's lines as in `/usr/share/pam-configs`, indented by a tab.
  private static func lines(_ kind: String, _ profile: String, path: String) -> [PAMLine] {
    let written = profile.split(separator: "\n").filter { $0.hasPrefix("\t") }
    let text = written.map { kind + $0 }.joined(separator: "\n")
    let reader = PAMReader(folder: "") { _ in Array(text.utf8) }
    return ((try? reader.stack(kind, of: "profile")) ?? []).flatMap(\.lines).map {
      PAMLine(
        kind: $0.kind, control: $0.control, module: $0.module, arguments: $0.arguments, file: path, line: unwritten)
    }
  }

  /// The stack after the change. pam-auth-update sorts lines by priority. Here they are at the top of their part, so
  /// that no jump across them is missed.
  func inserted(into stack: [PAMEntry]) -> [PAMEntry] {
    let greatest = stack.compactMap(number).max() ?? 0
    var result: [PAMEntry] = []
    var last = 0
    for entry in stack {
      guard let number = number(entry) else {
        if case .substack(let entries) = entry {
          result.append(.substack(inserted(into: entries)))
        } else {
          result.append(entry)
        }
        continue
      }
      // The file is included once more.
      if number <= last { last = 0 }
      func begins(_ part: Range<Int>) -> Bool { last < part.lowerBound && number > part.lowerBound }
      if begins(blocks.primary) { result += primary.map { .module($0) } }
      if begins(blocks.additional) { result += additional.map { .module($0) } }
      result.append(entry)
      if number == greatest, number < blocks.additional.lowerBound { result += additional.map { .module($0) } }
      last = number
    }
    return result
  }

  /// A line's number in the blocks' file.
  private func number(_ entry: PAMEntry) -> Int? {
    if case .module(let line) = entry, line.file == blocks.path { line.line } else { nil }
  }
}
