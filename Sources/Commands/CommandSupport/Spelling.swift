import IAMPASSProtocol

/// Finds the known word that a mistyped word means.
public enum Spelling {
  /// The most letters that may be wrong, missing, added or swapped with a neighbour.
  private static let greatestDistance = 2
  /// The most names that a message lists.
  private static let greatestList = 12

  /// The nearest of the known words; nil if none is near.
  public static func nearest(to word: String, in known: [String]) -> String? {
    let near = known.map { (distance: distance(from: word, to: $0), name: $0) }.filter {
      // Two wrong letters would be the whole of a short word.
      $0.distance <= min(greatestDistance, max(1, word.count / 2))
    }
    return near.min { ($0.distance, $0.name) < ($1.distance, $1.name) }?.name
  }

  /// A hint with the known names and the probable one; nil without known names.
  public static func hint(for word: String, known: [String]) -> String? {
    guard !known.isEmpty else { return nil }
    let shown = known.sorted().prefix(greatestList).map { DisplayText.sanitized($0) }
    let list = shown.joined(separator: ", ") + (known.count > greatestList ? ", …" : "")
    guard let meant = nearest(to: word, in: known) else { return "there is: \(list)" }
    return "did you mean \(DisplayText.sanitized(meant))? there is: \(list)"
  }

  /// The number of letters that differ. Two swapped neighbours count once.
  public static func distance(from left: String, to right: String) -> Int {
    let (a, b) = (Array(left), Array(right))
    // The rows of the letter before the last one, of the last one, and of this one.
    var (older, last, row) = ([Int](), [Int](), Array(0...b.count))
    for i in 1..<(a.count + 1) {
      (older, last, row) = (last, row, [i])
      for j in 1..<(b.count + 1) {
        var least = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1))
        if i > 1, j > 1, a[i - 1] == b[j - 2], a[i - 2] == b[j - 1] { least = min(least, older[j - 2] + 1) }
        row.append(least)
      }
    }
    return row[b.count]
  }
}
