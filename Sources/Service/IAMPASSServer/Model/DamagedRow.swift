/// A row has another kind of value in a column than the table allows.
struct DamagedRow: Error {
  let column: String
}
