/// The changes of users that no administrator's phone has signed yet: the member `unsigned` of a page of the signed
/// list. The service sends it only if the computer does not wait. It is not signed, and decides nothing.
public struct UnsignedChanges: Sendable, Equatable {
  /// 0 if the list is unchanged, but its signature is no longer valid.
  public let count: Int64
  /// Seconds since the first of these changes; nil if the service does not know.
  public let age: Int64?

  public init(count: Int64, age: Int64?) {
    self.count = count
    self.age = age
  }

  /// Nil for a page without this member.
  public init?(inReply body: [UInt8]) {
    guard let json = (try? JSON(parsing: body))?["unsigned"], let count = json["changes"]?.integer, count >= 0 else {
      return nil
    }
    self.init(count: count, age: json["age"]?.integer.flatMap { $0 >= 0 ? $0 : nil })
  }

  public var json: JSON { .object(["changes": .integer(count), "age": age.map { .integer($0) }]) }
}
