/// The pieces of a reply that continues as long as there is news. One task asks for the pieces one after the other.
protocol EventSource: Actor {
  /// The next piece; nil at the end.
  func next() async -> [UInt8]?
}
