import IAMPASSProtocol

// Search forms above the console's lists. They send their fields in the address, so that a search can be kept as a link.

extension Console {
  /// The greatest difference between a day's beginning in a time zone and in UTC, in milliseconds. Time zones go from
  /// 12 hours behind to 14 ahead.
  private static let greatestOffset: Int64 = 14 * 3_600_000

  /// A field of the address; empty if it is not given once.
  func query(_ name: String) -> String { String((call.target.value(name) ?? "")[...].trimming(" ")) }

  /// The beginning of the day in the address; nil if there is none. The console's script adds `NAME_at`, when that is
  /// in the browser's time zone; otherwise the day is UTC's.
  ///
  /// - Parameter more: days after it.
  func queryDay(_ name: String, plus more: Int64 = 0) -> UnixTime? {
    let text = query(name)
    guard text.utf8.count == 10, let day = UnixTime(text: text)?.advanced(seconds: more * 86_400) else { return nil }
    guard let instant = UnixTime(text: query(name + "_at")),
      abs(instant.milliseconds(since: day)) <= Self.greatestOffset
    else { return day }
    return instant
  }

  /// - Parameter fields: the fields, each with name, label and kind.
  func searchForm(_ path: String, _ fields: [(name: String, label: String, kind: String)], _ more: HTML = .nothing)
    -> HTML
  {
    let inputs = fields.map { field -> HTML in
      let input: HTML =
        "<input type=\"\(field.kind)\" name=\"\(field.name)\" value=\"\(query(field.name))\" autocomplete=\"off\">"
      let begin: HTML =
        field.kind == "date" ? "<input type=\"hidden\" name=\"\(field.name)_at\" disabled>" : .nothing
      return "<label>\(field.label) \(input)</label>\(begin)"
    }
    return """
      <form class="search" role="search" method="get" action="\(base + path)">
      \(inputs)
      \(more)
      <button>Search</button>
      <a href="\(base + path)">All</a>
      </form>
      """
  }

  /// The address of the next page of the same search.
  ///
  /// - Parameter fields: names of the search's fields.
  func next(_ path: String, keeping fields: [String], _ further: [(String, String)]) -> String {
    let kept = fields.map { ($0, query($0)) }.filter { !$0.1.isEmpty }
    return base + path + "?" + (kept + further).map { "\($0.0)=\(PercentEncoding.encode($0.1))" }.joined(separator: "&")
  }

  var auditFilter: AuditFilter {
    AuditFilter(
      user: query("user"), computer: query("computer"), result: AuditFilter.Result(rawValue: query("result")),
      from: queryDay("from"), until: queryDay("to", plus: 1))
  }

  /// Sessions are dated in service time.
  var sessionFilter: SessionFilter {
    let offset = storage.clock.unixTime(of: now).milliseconds(since: now)
    func service(_ time: UnixTime?) -> UnixTime? { time.map { UnixTime(milliseconds: $0.milliseconds - offset) } }
    return SessionFilter(
      user: query("user"), computer: query("computer"), from: service(queryDay("from")),
      until: service(queryDay("to", plus: 1)), start: query("start"))
  }

  func resultChoices(_ results: [String]) -> HTML {
    let options = ([""] + results).map { word -> HTML in
      let shown = word.isEmpty ? "all" : word
      return "<option value=\"\(word)\"\(word == query("result") ? " selected" : "")>\(shown)</option>"
    }
    return "<label>Result <select name=\"result\">\(options)</select></label>"
  }
}
