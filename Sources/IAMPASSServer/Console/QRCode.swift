import CQRCode

/// A QR code (ISO/IEC 18004) as a picture within a page.
struct QRCode: Sendable {
  /// Four modules, as the standard wants it around the code.
  private static let quietZone = 4

  private let width: Int
  private let dark: [Bool]

  /// Nil where the text does not fit into a code.
  init?(_ text: String) {
    guard let code = QRcode_encodeString8bit(text, 0, QR_ECLEVEL_M) else { return nil }
    defer { QRcode_free(code) }
    width = Int(code.pointee.width)
    // SAFETY: libqrencode's data has width × width bytes.
    dark = (0..<width * width).map { [data = code.pointee.data!] in data[$0] & 1 == 1 }
  }

  /// Dark on light in any colour scheme, as readers want it.
  func svg(title: String) -> HTML {
    var path = ""
    for row in 0..<width {
      for column in 0..<width where dark[row * width + column] {
        path += "M\(column + Self.quietZone) \(row + Self.quietZone)h1v1h-1z"
      }
    }
    let size = width + 2 * Self.quietZone
    // The path is our own, and longer than what a stranger's text is cut to.
    return """
      <svg class="code" role="img" aria-label="\(title)" viewBox="0 0 \(size) \(size)" shape-rendering="crispEdges">
      <rect width="\(size)" height="\(size)" fill="#ffffff"/><path d="\(HTML(stringLiteral: path))" fill="#000000"/>
      </svg>
      """
  }
}
