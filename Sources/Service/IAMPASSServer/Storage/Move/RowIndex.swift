import PostgreSQLLink

/// The keys of one table's rows, and a fingerprint of each row.
///
/// The fingerprints have 64 bits, with a random key for each process. So a difference between two rows is missed once
/// in 2^64 cases, even if an attacker made the rows.
struct RowIndex {
  enum Difference { case new, changed, same }

  struct KeysCollide: Error {}

  let table: PostgreSQLTable
  private var places: [Int: Int32] = [:]
  private var prints: [Int] = []
  private var isThere: [Bool] = []
  private var isSeen: [Bool] = []
  /// All keys one after the other. `keyEnds` has their ends.
  private var keys: [UInt8] = []
  private var keyEnds: [Int] = []
  private(set) var count = 0

  init(_ table: PostgreSQLTable) { self.table = table }

  /// Begins another pass over all rows.
  mutating func beginPass() { for place in isSeen.indices { isSeen[place] = false } }

  /// Notes a row of this pass. Returns how it differs from the known one.
  mutating func note(_ tuple: UnsafeRawBufferPointer) throws -> Difference {
    let key = self.key(of: tuple)
    let print = Self.print(of: tuple)
    guard let place = places[Self.print(of: key)].map(Int.init) else {
      places[Self.print(of: key)] = Int32(prints.count)
      prints.append(print)
      isThere.append(true)
      isSeen.append(true)
      keys.append(contentsOf: key)
      keyEnds.append(keys.count)
      count += 1
      return .new
    }
    // Two keys almost never have the same fingerprint. If so, the next run uses another random key.
    guard keyBytes(at: place).elementsEqual(key), !isSeen[place] else { throw KeysCollide() }
    isSeen[place] = true
    let wasThere = isThere[place]
    isThere[place] = true
    guard wasThere else {
      count += 1
      prints[place] = print
      return .new
    }
    defer { prints[place] = print }
    return prints[place] == print ? .same : .changed
  }

  /// Forgets the rows that this pass did not have, and returns their keys.
  mutating func takeMissing() -> [PostgreSQLTuple] {
    var missing: [PostgreSQLTuple] = []
    for place in prints.indices where isThere[place] && !isSeen[place] {
      isThere[place] = false
      count -= 1
      missing.append(PostgreSQLTuple(key: keyBytes(at: place), columnCount: table.keyCount))
    }
    return missing
  }

  /// Whether this row is the same as when it was last noted.
  func has(_ tuple: UnsafeRawBufferPointer) -> Bool {
    guard let place = places[Self.print(of: key(of: tuple))].map(Int.init) else { return false }
    return isThere[place] && prints[place] == Self.print(of: tuple)
  }

  /// Counts rows of a table without a key, which are compared separately.
  mutating func noteKeyless(_ count: Int) { self.count += count }

  /// A row with only the key.
  func keyTuple(of tuple: PostgreSQLTuple) -> PostgreSQLTuple {
    tuple.bytes.withUnsafeBytes { PostgreSQLTuple(key: key(of: $0), columnCount: table.keyCount) }
  }

  private func key(of tuple: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: tuple[2..<PostgreSQLTuple.end(ofFirst: table.keyCount, in: tuple)])
  }

  private func keyBytes(at place: Int) -> ArraySlice<UInt8> {
    keys[(place == 0 ? 0 : keyEnds[place - 1])..<keyEnds[place]]
  }

  private static func print(of bytes: UnsafeRawBufferPointer) -> Int {
    var hasher = Hasher()
    hasher.combine(bytes: bytes)
    return hasher.finalize()
  }
}
