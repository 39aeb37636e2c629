import CommandSupport

/// A listing with a head, each column as wide as it must be.
struct TextTable {
  let head: [String]
  let rows: [[String]]

  /// - Parameter nothing: what is said if there are no rows.
  func show(orSay nothing: String) {
    guard !rows.isEmpty else { return Terminal.say(nothing) }
    let lines = [head] + rows
    let widths = head.indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
    for row in lines {
      let cells = zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
      var line = cells.joined(separator: "  ")
      while line.last == " " { line.removeLast() }
      Terminal.say(line)
    }
  }
}
