/// The pieces of a reply that goes on as long as there is news. One task asks for one piece after the other.
protocol EventSource: Actor {
  /// The next piece; nil at the end.
  func next() async -> [UInt8]?
}
