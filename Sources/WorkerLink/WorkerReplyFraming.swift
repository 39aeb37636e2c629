/// How a reply tells where its body ends (RFC 9112 §6.3, RFC 9113 §8.1). What could be read in two ways, or may have been
/// cut short, is no reply.
package enum ReplyFraming: Equatable, Sendable {
  /// Bytes, by the one Content-Length.
  case length(Int)
  /// The last chunk or frame says so; whoever reads these tells an end from a cut.
  case marked
  /// The connection's end is the body's, and nobody knows who brought it about.
  case none
  /// Two lengths, one that is not a plain number, or a coding besides `chunked`.
  case ambiguous

  /// - Parameters:
  ///   - headers: those of the final reply, with those that come twice.
  ///   - isMultiplexed: over HTTP/2, where Transfer-Encoding must not be.
  package init(_ headers: [(name: String, value: String)], status: Int, isMultiplexed: Bool) {
    let lengths = headers.filter { $0.name.lowercased() == "content-length" }.map(\.value)
    let codings = headers.filter { $0.name.lowercased() == "transfer-encoding" }.map(\.value)
    switch (lengths.count, codings.count) {
    // These have no body (RFC 9110 §6.4.1), and may name the length of another reply's.
    case (0...1, 0) where status == 204 || status == 304: self = .length(0)
    case (1, 0): self = Self.number(lengths[0]).map { .length($0) } ?? .ambiguous
    case (0, 1) where !isMultiplexed && codings[0].lowercased() == "chunked": self = .marked
    case (0, 0): self = isMultiplexed ? .marked : .none
    default: self = .ambiguous
    }
  }

  /// Only digits: `+2` and `2, 2` are numbers to some.
  private static func number(_ text: String) -> Int? {
    guard !text.isEmpty, text.utf8.count <= 10, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return Int(text)
  }
}
