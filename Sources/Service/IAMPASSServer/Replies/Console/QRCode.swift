import CQRCode

/// A QR code (ISO/IEC 18004) as an inline picture.
struct QRCode: Sendable {
  /// The standard requires four empty modules around the code.
  private static let quietZone = 4

  private let width: Int
  private let dark: [Bool]

  /// Nil if the text is too long for a code.
  init?(_ text: String) {
    guard let code = QRcode_encodeString8bit(text, 0, QR_ECLEVEL_M) else { return nil }
    defer { QRcode_free(code) }
    width = Int(code.pointee.width)
    // SAFETY: libqrencode's data has width × width bytes.
    dark = (0..<width * width).map { [data = code.pointee.data!] in data[$0] & 1 == 1 }
  }

  /// Dark on light in every colour scheme, as readers require.
  func svg(title: String) -> HTML {
    var path = ""
    for row in 0..<width {
      for column in 0..<width where dark[row * width + column] {
        path += "M\(column + Self.quietZone) \(row + Self.quietZone)h1v1h-1z"
      }
    }
    let size = width + 2 * Self.quietZone
    // The path is our own text, and longer than the limit for strangers' texts.
    return """
      <svg class="code" role="img" aria-label="\(title)" viewBox="0 0 \(size) \(size)" shape-rendering="crispEdges">
      <rect width="\(size)" height="\(size)" fill="#ffffff"/><path d="\(HTML(stringLiteral: path))" fill="#000000"/>
      </svg>
      """
  }
}
