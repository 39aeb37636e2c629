import CommandSupport
import IAMPASSProtocol

/// A table with a head. Each column is as wide as its widest cell.
struct TextTable {
  /// The greatest width of a cell, in characters. Longer texts are cut.
  private static let greatestWidth = 64

  private let rows: [[String]]

  /// - Parameter rows: as many cells in each as the head has. An empty cell is shown as `-`.
  init(head: [String], rows: [[String]]) {
    let cells = rows.map { row in
      row.map { DisplayText.sanitized($0, limit: Self.greatestWidth) }.map { $0.isEmpty ? "-" : $0 }
    }
    self.rows = [head] + cells
  }

  func show(whenEmpty text: String) {
    guard rows.count > 1 else { return Terminal.say(text) }
    let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    for row in rows {
      let cells = zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
      var line = cells.joined(separator: "  ")
      while line.last == " " { line.removeLast() }
      Terminal.say(line)
    }
  }
}
