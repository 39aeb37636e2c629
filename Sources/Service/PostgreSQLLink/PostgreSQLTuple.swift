/// A row in the binary form of `COPY` (PostgreSQL's manual, COPY, "Tuples"): the number of its columns, and each
/// column's length and bytes.
public struct PostgreSQLTuple: Equatable, Sendable {
  /// The bytes of the row.
  public private(set) var bytes: [UInt8]

  /// Makes a row without columns, which are added later.
  public init(columnCount: Int) {
    bytes = []
    bytes.reserveCapacity(256)
    append(big: UInt16(truncatingIfNeeded: columnCount))
  }

  /// A copy of such a row.
  public init(copying buffer: UnsafeRawBufferPointer) { bytes = Array(buffer) }

  /// Makes a row with only the columns of a key.
  public init(key: some Collection<UInt8>, columnCount: Int) {
    self.init(columnCount: columnCount)
    bytes += key
  }

  init(_ row: PostgreSQLRow) {
    self.init(columnCount: row.columns.count)
    for column in row.columns {
      guard let bytes = column.bytes else {
        appendNull()
        continue
      }
      append(big: UInt32(bytes.count))
      self.bytes += bytes
    }
  }

  /// Begins another row in the same place.
  public mutating func begin(columnCount: Int) {
    bytes.removeAll(keepingCapacity: true)
    append(big: UInt16(truncatingIfNeeded: columnCount))
  }

  /// Appends NULL as the next column.
  public mutating func appendNull() { append(big: UInt32.max) }

  /// Appends the next column.
  public mutating func append(_ number: Int64) {
    append(big: UInt32(8))
    append(big: number)
  }

  /// Appends the next column.
  ///
  /// - Parameter text: UTF-8.
  public mutating func append(text: UnsafeRawBufferPointer) {
    append(big: UInt32(truncatingIfNeeded: text.count))
    bytes.append(contentsOf: text)
  }

  private mutating func append(big number: some FixedWidthInteger) {
    withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
  }

  /// The places of the columns in `tuple`, without their lengths; nil for NULL.
  ///
  /// - Returns: an empty list if the tuple does not have that form.
  public static func fields(of tuple: UnsafeRawBufferPointer) -> [Range<Int>?] {
    guard tuple.count >= 2 else { return [] }
    let count = Int(UInt16(bigEndian: tuple.loadUnaligned(as: UInt16.self)))
    var fields: [Range<Int>?] = []
    fields.reserveCapacity(count)
    var place = 2
    for _ in 0..<count {
      guard place + 4 <= tuple.count else { return [] }
      let length = Int32(bigEndian: tuple.loadUnaligned(fromByteOffset: place, as: Int32.self))
      place += 4
      guard length >= 0 else {
        fields.append(nil)
        continue
      }
      guard place + Int(length) <= tuple.count else { return [] }
      fields.append(place..<place + Int(length))
      place += Int(length)
    }
    return place == tuple.count ? fields : []
  }

  /// Where the first columns end.
  public static func end(ofFirst count: Int, in tuple: UnsafeRawBufferPointer) -> Int {
    var place = 2
    for _ in 0..<count {
      guard place + 4 <= tuple.count else { return tuple.count }
      let length = Int32(bigEndian: tuple.loadUnaligned(fromByteOffset: place, as: Int32.self))
      place += 4 + Int(max(length, 0))
    }
    return min(place, tuple.count)
  }

  func values(_ columns: ArraySlice<PostgreSQLTable.Column>) -> [PostgreSQLValue] {
    bytes.withUnsafeBytes { tuple in
      zip(columns, Self.fields(of: tuple)).map { column, field in
        guard let field else { return .null }
        guard column.isInteger else { return .text(String(decoding: tuple[field], as: UTF8.self)) }
        return .integer(tuple[field].reduce(0) { $0 << 8 | Int64($1) })
      }
    }
  }
}
