/// What a service says, to a computer that does not wait, of changes of users that no administrator's phone has signed:
/// the member `unsigned` of a page of the signed list. Nobody signs it, and nothing is decided by it.
public struct UnsignedChanges: Sendable, Equatable {
  /// 0 if the list is as it was signed, and the signature does not count any more.
  public let count: Int64
  /// Seconds since the first of them; nil if the service does not know.
  public let age: Int64?

  public init(count: Int64, age: Int64?) {
    self.count = count
    self.age = age
  }

  /// Nil for a page that says nothing of them.
  public init?(inReply body: [UInt8]) {
    guard let json = (try? JSON(parsing: body))?["unsigned"], let count = json["changes"]?.integer, count >= 0 else {
      return nil
    }
    self.init(count: count, age: json["age"]?.integer.flatMap { $0 >= 0 ? $0 : nil })
  }

  public var json: JSON { .object(["changes": .integer(count), "age": age.map { .integer($0) }]) }
}
