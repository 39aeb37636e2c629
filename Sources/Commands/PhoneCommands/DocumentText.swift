import DeviceProtocol
import IAMPASSPhone

/// A document as the terminal shows it.
struct DocumentText {
  /// The most lines that are shown at first.
  private static let greatestCount = 50

  let request: OpenRequest
  let application: String
  let document: ReviewedDocument

  /// The beginning of the document: as much as fits on a screen or two.
  var beginning: String { text(document.lines.prefix(Self.greatestCount)) + (isWhole ? "" : "\nand \(left) more") }

  var whole: String { text(document.lines[...]) }

  /// Whether ``beginning`` has all lines.
  var isWhole: Bool { left <= 0 }

  private var left: Int { document.lines.count - Self.greatestCount }

  // The review has escaped its lines.
  private func text(_ lines: ArraySlice<String>) -> String {
    let rows = [
      ("application", application), ("session", PhoneTerminal.short(request.session)),
      ("time left", PhoneTerminal.duration(request.secondsLeft)),
    ]
    return
      (["to sign as an administrator: \(document.title)", PhoneTerminal.table(rows)]
      + document.notes.map { "  \($0)" } + ["\(document.heading)\(lines.isEmpty ? "" : ":")"] + lines.map { "  \($0)" })
      .joined(separator: "\n")
  }
}
