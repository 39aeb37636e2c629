/// How long operations wait for their turn at the database.
enum StoragePatience {
  /// How long an operation waits by default. A client that has waited this long asks again, and a later result would
  /// not be used.
  static let usual = Duration.seconds(2)
  /// The same at the file in the data directory. Only this machine's own work is before it: a machine that is busy with a
  /// backup or an upgrade should slow a command of its administrator's, and not fail it.
  static let file = Duration.seconds(10)

  /// Whether the current task's operations wait as long as it takes: nobody asks for them again. Only SQLite.
  @TaskLocal static var isEndless = false
}
