/// How long operations wait for their turn at the database.
enum StoragePatience {
  /// How long an operation waits by default. A client that has waited this long asks again, and a later result would
  /// not be used.
  static let usual = Duration.seconds(2)

  /// Whether the current task's operations wait as long as it takes: nobody asks for them again. Only SQLite.
  @TaskLocal static var isEndless = false
}
