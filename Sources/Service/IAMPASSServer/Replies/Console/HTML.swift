import IAMPASSProtocol

/// Text of a page. Interpolated values are escaped unless they are HTML, so that a stranger's name stays text.
struct HTML: ExpressibleByStringInterpolation, Sendable {
  let text: String

  init(stringLiteral value: String) { text = value }
  init(stringInterpolation: StringInterpolation) { text = stringInterpolation.text }

  /// All `parts` in a row.
  init(_ parts: [HTML]) { text = parts.map(\.text).joined(separator: "\n") }

  static let nothing: HTML = ""

  /// The greatest length of a value in characters. Longer values are cut; a link is shorter.
  private static let greatestLength = 2_048

  struct StringInterpolation: StringInterpolationProtocol {
    fileprivate var text = ""

    init(literalCapacity: Int, interpolationCount: Int) { text.reserveCapacity(literalCapacity * 2) }

    mutating func appendLiteral(_ literal: String) { text += literal }
    mutating func appendInterpolation(_ html: HTML) { text += html.text }
    mutating func appendInterpolation(_ parts: [HTML]) { text += HTML(parts).text }
    mutating func appendInterpolation(_ number: some BinaryInteger) { text += "\(number)" }
    mutating func appendInterpolation(_ value: String) { text += HTML.escaped(value) }
    /// Several lines, each on its own.
    mutating func appendInterpolation(lines value: String) {
      text += value.split(separator: "\n", omittingEmptySubsequences: false).map { HTML.escaped(String($0)) }
        .joined(separator: "\n")
    }
  }

  /// Escapes text for content and for attributes in quotation marks. Makes control characters and marks of direction
  /// visible.
  static func escaped(_ value: String) -> String {
    var text = ""
    for scalar in DisplayText.sanitized(value, limit: greatestLength).unicodeScalars {
      switch scalar {
      case "&": text += "&amp;"
      case "<": text += "&lt;"
      case ">": text += "&gt;"
      case "\"": text += "&quot;"
      case "'": text += "&#39;"
      default: text.unicodeScalars.append(scalar)
      }
    }
    return text
  }
}
