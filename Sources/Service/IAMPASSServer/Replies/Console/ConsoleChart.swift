import IAMPASSProtocol

/// Sign-ins by day and result, as bars and as a table: the picture is readable without script and colours, and the table
/// has the same numbers for screen readers.
struct ConsoleChart {
  /// The number of days that are shown, including today.
  static let length: Int64 = 14
  private static let results: [AuditFilter.Result] = [.approved, .denied, .unanswered]
  private static let (width, height, base): (Int64, Int64, Int64) = (700, 220, 180)

  private let days: [Int64]
  private var counts: [Int64: [AuditFilter.Result: Int64]] = [:]

  init(_ all: [SignInCount], today: Int64) {
    days = Array(today - Self.length + 1...today)
    for one in all { counts[one.day, default: [:]][one.result] = one.count }
  }

  private func count(_ day: Int64, _ result: AuditFilter.Result) -> Int64 { counts[day]?[result] ?? 0 }
  private func count(of day: Int64) -> Int64 { Self.results.reduce(0) { $0 + count(day, $1) } }

  /// A day such as `11-24`.
  private static func shortName(_ day: Int64) -> String { String(UnixTime(day: day).text.dropFirst(5).prefix(5)) }
  private static func name(_ day: Int64) -> String { String(UnixTime(day: day).text.prefix(10)) }

  var html: HTML {
    let total = days.reduce(0) { $0 + count(of: $1) }
    guard total > 0 else { return "<p class=\"soft\">No sign-ins in the last \(Self.length) days.</p>" }
    let most = max(1, days.map(count(of:)).max() ?? 1)
    let said = Self.results.map { result in
      "\(days.reduce(0) { $0 + count($1, result) }) \(result.rawValue)"
    }.joined(separator: ", ")
    return """
      <svg class="chart" role="img" aria-labelledby="chart-title chart-words" viewBox="0 0 \(Self.width) \(Self.height)">
      <title id="chart-title">Sign-ins of the last \(Self.length) days (UTC)</title>
      <desc id="chart-words">\(said). The table below has each day.</desc>
      <line class="axis" x1="0" y1="\(Self.base)" x2="\(Self.width)" y2="\(Self.base)"/>
      <text x="0" y="14">\(most)</text>
      <line class="axis" x1="30" y1="10" x2="\(Self.width)" y2="10"/>
      \(days.enumerated().map { bar($0.offset, $0.element, most) })
      </svg>
      <p class="legend">\(Self.results.map { "<span class=\"key \($0.word)\">\($0.rawValue)</span>" as HTML })</p>
      <details><summary>The same as a table</summary>\(table)</details>
      """
  }

  private func bar(_ place: Int, _ day: Int64, _ most: Int64) -> HTML {
    let step = (Self.width - 40) / Self.length
    let x = 40 + Int64(place) * step
    var top = Self.base
    let parts = Self.results.compactMap { result -> HTML? in
      let count = self.count(day, result)
      guard count > 0 else { return nil }
      let tall = max(2, count * (Self.base - 10) / most)
      top -= tall
      return """
        <rect class="\(result.word)" x="\(x)" y="\(top)" width="\(step - 10)" height="\(tall)"><title>\(Self.name(day)): \
        \(count) \(result.rawValue)</title></rect>
        """
    }
    return """
      \(parts)
      <text class="day" x="\(x + (step - 10) / 2)" y="\(Self.base + 22)" text-anchor="middle">\(Self.shortName(day))</text>
      """
  }

  private var table: HTML {
    var table = ConsoleTable(["Day (UTC)"] + Self.results.map(\.rawValue))
    for day in days.reversed() {
      let cells = Self.results.map { result -> HTML in "\(count(day, result))" }
      table.add([HTML(stringLiteral: Self.name(day))] + cells)
    }
    return table.html(none: "")
  }
}

extension AuditFilter.Result {
  /// The class in the style sheet.
  fileprivate var word: String {
    switch self {
    case .approved: "good"
    case .denied: "bad"
    case .unanswered: "open"
    case .changes: "open"
    }
  }
}
