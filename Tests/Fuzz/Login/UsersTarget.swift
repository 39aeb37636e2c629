import FuzzKit
import IAMPASSProtocol

@testable import HostState
@testable import HostSystem
@testable import WorkerLink

/// Whose token it is: by pieces, by the whole file, by the file on disk and by a plain reading of the lines.
///
/// The first line is `NAME PIECE PADDING`: whom to look for, how many bytes a piece has at least, and how far into the
/// file the rest begins, so that it lies across the border of two readings.
func fuzzUsers(_ input: [UInt8]) {
  let pieces = Pieces(input)
  guard let name = pieces.words.first, let user = UnixUsername(validating: name) else { return }
  let text = pieces.rest
  let expected = plainReading(text, user)
  must(outcome { try UserTokens(parsing: text).token(of: user) } == expected, "the whole file says otherwise")
  must(byPieces(text, user, atLeast: pieces.number(1, below: 4_096) + 1) == expected, "the pieces say otherwise")
  let padding = pieces.number(2, below: 70_000)
  let comment = [UInt8](repeating: UInt8(ascii: "#"), count: padding) + [UInt8(ascii: "\n")]
  let path = ScratchFolder.write(padding > 0 ? comment + text : text, to: "users")
  let onDisk = outcome { try UserTokens.token(of: user, inFile: path, sharing: .allowed) { _ in false } }
  // More users of one token than may be are refused.
  let isCrowd = text.count { $0 == UInt8(ascii: "\n") } >= SharedTokens.greatestCount && onDisk == .refused
  checkSharing(text, user, expected, padding == 0 ? path : nil)
  // A byte order mark counts at the very beginning only.
  if !isCrowd, padding == 0 || !beginsWithMark(text) { must(onDisk == expected, "the file on disk says otherwise") }
  checkEntries(text)
}

private func beginsWithMark(_ text: [UInt8]) -> Bool {
  [[0xEF, 0xBB, 0xBF], [0xFF, 0xFE], [0xFE, 0xFF]].contains { text.starts(with: $0) }
}

/// A token, none, or a file that is refused.
private enum Outcome: Equatable {
  case token([UInt8])
  case none
  case refused
}

private func outcome(_ look: () throws -> Secret?) -> Outcome {
  do {
    return try look().map { .token($0.exposedBytes) } ?? .none
  } catch { return .refused }
}

private func plainReading(_ text: [UInt8], _ user: UnixUsername) -> Outcome {
  if beginsWithMark(text) { return .refused }
  if user.text.utf8.first == UInt8(ascii: "#") { return .none }
  let key = Array((user.text + ":").utf8)
  let isStray = { (byte: UInt8) in byte == 0 || byte == 13 }
  for line in text.split(separator: UInt8(ascii: "\n")) where line.contains(where: isStray) {
    let parts = line.split(whereSeparator: isStray)
    if parts.contains(where: { $0.starts(with: key) }) || Array(parts.joined()).starts(with: key) { return .refused }
  }
  let lines = text.split(separator: UInt8(ascii: "\n")).filter { $0.starts(with: key) }
  guard let line = lines.first else { return .none }
  let token = Array(line.dropFirst(key.count))
  let isPlain = isPlainWord(token.text) && !token.contains { [0x22, 0x3A, 0x5C].contains($0) }
  return lines.count == 1 && isPlain ? .token(token) : .refused
}

private func byPieces(_ text: [UInt8], _ user: UnixUsername, atLeast size: Int) -> Outcome {
  var search = TokenSearch(user)
  var start = 0
  while start < text.count {
    // Pieces are whole lines, as SecureFile gives them.
    let newline = text[min(start + size - 1, text.count - 1)...].firstIndex(of: UInt8(ascii: "\n"))
    let end = newline.map { $0 + 1 } ?? text.count
    // SAFETY: the range is inside the array, which lives through the call.
    let goesOn = text.withUnsafeBytes { search.look(at: UnsafeRawBufferPointer(rebasing: $0[start..<end])) }
    guard goesOn else { break }
    start = end
  }
  return search.hasTrouble ? .refused : search.token.map { .token($0.exposedBytes) } ?? .none
}

/// What is exported to another computer is what sign-ins here would take.
private func checkEntries(_ text: [UInt8]) {
  guard let tokens = try? UserTokens(parsing: text), let entries = try? tokens.entries() else { return }
  for entry in entries {
    must(plainReading(text, entry.user) == .token(entry.token.exposedBytes), "\(entry.user) has another token")
  }
  must(Set(tokens.users()).isSuperset(of: entries.map(\.user.text)), "a user with a token is not listed")
}

/// A token that another line has too signs nobody in, unless that is allowed.
private func checkSharing(_ text: [UInt8], _ user: UnixUsername, _ expected: Outcome, _ path: String?) {
  guard let path, case .token(let token) = expected else { return }
  let ending = [UInt8(ascii: ":")] + token
  let holders = text.split(separator: UInt8(ascii: "\n")).filter { line in
    line.first != UInt8(ascii: "#") && line.count >= ending.count && Array(line.suffix(ending.count)) == ending
      && !line.dropLast(ending.count).contains(UInt8(ascii: ":"))
  }
  let strict = outcome { try UserTokens.token(of: user, inFile: path, sharing: .refused) { _ in false } }
  must(strict == (holders.count > 1 ? .refused : expected), "a shared token signs in")
}
