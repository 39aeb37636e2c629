/// How a reply marks the end of its body (RFC 9112 §6.3, RFC 9113 §8.1). A reply that is ambiguous, or may have been
/// cut short, is refused.
package enum ReplyFraming: Equatable, Sendable {
  /// A length in bytes, from the only Content-Length.
  case length(Int)
  /// The last chunk or frame marks the end. Readers of these forms notice a cut.
  case marked
  /// The body ends with the connection, and anyone may have closed that.
  case none
  /// Two lengths, a length that is not a plain number, or a coding besides `chunked`.
  case ambiguous

  /// - Parameters:
  /// - headers: all headers of the final reply, repeated ones included.
  /// - isMultiplexed: whether the reply came over HTTP/2, which forbids Transfer-Encoding.
  package init(_ headers: [(name: String, value: String)], status: Int, isMultiplexed: Bool) {
    let lengths = headers.filter { $0.name.lowercased() == "content-length" }.map(\.value)
    let codings = headers.filter { $0.name.lowercased() == "transfer-encoding" }.map(\.value)
    switch (lengths.count, codings.count) {
    // These replies have no body (RFC 9110 §6.4.1), and may carry another reply's length.
    case (0...1, 0) where status == 204 || status == 304: self = .length(0)
    case (1, 0): self = Self.number(lengths[0]).map { .length($0) } ?? .ambiguous
    case (0, 1) where !isMultiplexed && codings[0].lowercased() == "chunked": self = .marked
    case (0, 0): self = isMultiplexed ? .marked : .none
    default: self = .ambiguous
    }
  }

  /// Digits only: some readers accept `+2` and `2, 2`.
  private static func number(_ text: String) -> Int? {
    guard !text.isEmpty, text.utf8.count <= 10, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return Int(text)
  }
}
