/// Writes OpenMetrics 1.0: families with type, help and samples in a stable order, and the mark of the end.
struct OpenMetricsText {
  typealias Label = (name: String, value: String)

  private var lines: [String] = []

  mutating func counter(_ name: String, _ help: String, _ samples: [(labels: [Label], count: Int64)]) {
    head(name, "counter", help)
    for sample in Self.sorted(samples) { lines.append("\(name)_total\(sample.labels) \(sample.count)") }
  }

  mutating func counter(_ name: String, _ help: String, _ count: Int64) { counter(name, help, [([], count)]) }

  mutating func gauge(_ name: String, _ help: String, _ samples: [(labels: [Label], count: Int64)]) {
    head(name, "gauge", help)
    for sample in Self.sorted(samples) { lines.append("\(name)\(sample.labels) \(sample.count)") }
  }

  mutating func gauge(_ name: String, _ help: String, _ value: Int64) { gauge(name, help, [([], value)]) }

  mutating func histogram(_ name: String, _ help: String, _ samples: [(labels: [Label], noted: Histogram.Noted)]) {
    head(name, "histogram", help)
    let ends = Histogram.ends.map(\.seconds) + ["+Inf"]
    for (labels, noted) in samples {
      for (end, count) in zip(ends, noted.upTo) {
        lines.append("\(name)_bucket\(Self.text(labels + [("le", end)])) \(count)")
      }
      lines.append("\(name)_count\(Self.text(labels)) \(noted.count)")
      lines.append("\(name)_sum\(Self.text(labels)) \(Self.seconds(noted.microseconds))")
    }
  }

  var finished: String { (lines + ["# EOF", ""]).joined(separator: "\n") }

  private mutating func head(_ name: String, _ type: String, _ help: String) {
    lines.append("# TYPE \(name) \(type)")
    lines.append("# HELP \(name) \(help)")
  }

  private static func sorted(_ samples: [(labels: [Label], count: Int64)]) -> [(labels: String, count: Int64)] {
    samples.map { (text($0.labels), $0.count) }.sorted { $0.labels < $1.labels }
  }

  private static func text(_ labels: [Label]) -> String {
    labels.isEmpty ? "" : "{" + labels.map { "\($0.name)=\"\($0.value)\"" }.joined(separator: ",") + "}"
  }

  private static func seconds(_ microseconds: Int64) -> String {
    let fraction = String(microseconds % 1_000_000)
    return "\(microseconds / 1_000_000)." + String(repeating: "0", count: 6 - fraction.count) + fraction
  }
}
