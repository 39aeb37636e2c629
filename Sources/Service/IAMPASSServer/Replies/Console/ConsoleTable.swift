import IAMPASSProtocol

/// A table that becomes a list on narrow screens. The style sheet would hide the table from screen readers, so that
/// roles name it.
struct ConsoleTable {
  let names: [String]
  private var rows: [HTML] = []

  /// - Parameter names: the columns' headings; empty for the column of actions.
  init(_ names: [String]) { self.names = names }

  /// - Parameter cells: one for each column. The first is the row's heading.
  mutating func add(_ cells: [HTML]) {
    let written = zip(names, cells).enumerated().map { index, pair -> HTML in
      if index == 0 { return "<th scope=\"row\" role=\"rowheader\">\(pair.1)</th>" }
      return pair.0.isEmpty || pair.1.text.isEmpty
        ? "<td role=\"cell\">\(pair.1)</td>" : "<td role=\"cell\" data-name=\"\(pair.0)\">\(pair.1)</td>"
    }
    rows.append("<tr role=\"row\">\(written)</tr>")
  }

  /// - Parameter none: the text in place of a table without rows.
  func html(none: String) -> HTML {
    guard !rows.isEmpty else { return "<p class=\"soft\">\(none)</p>" }
    let heads = names.map { name -> HTML in
      let shown: HTML = name.isEmpty ? "<span class=\"unseen\">Actions</span>" : "\(name)"
      return "<th scope=\"col\" role=\"columnheader\">\(shown)</th>"
    }
    return """
      <table role="table">
      <thead role="rowgroup"><tr role="row">\(heads)</tr></thead>
      <tbody role="rowgroup">
      \(rows)
      </tbody>
      </table>
      """
  }
}

extension UnixTime {
  /// Readable for people and for programs.
  var html: HTML { html(digits: 16) }

  /// As ``html``. Steps of one sign-in are seconds apart.
  var htmlWithSeconds: HTML { html(digits: 19) }

  private func html(digits: Int) -> HTML {
    "<time datetime=\"\(text)\">\(String(text.prefix(digits)).replacing("T", with: " "))\u{a0}UTC</time>"
  }
}

extension UnixTime? {
  func html(orElse word: String) -> HTML { map(\.html) ?? "<span class=\"soft\">\(word)</span>" }
}

extension KnownUser {
  /// In a table.
  var html: HTML {
    guard let name else { return "<em>without a name</em> <small>\(shownID)</small>" }
    return name == shownID ? "\(name)" : "\(name) <small>\(shownID)</small>"
  }
}
