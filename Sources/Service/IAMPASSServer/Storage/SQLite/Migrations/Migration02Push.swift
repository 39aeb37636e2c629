extension Migration {
  /// Where phones are rung. The service's key for that is made once: another key would end every subscription.
  static let push = Migration(
    "push",
    sql: """
      CREATE TABLE push_key (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        private_key TEXT NOT NULL
      ) STRICT;

      CREATE TABLE push_subscription (
        phone TEXT PRIMARY KEY REFERENCES phone ON DELETE CASCADE,
        endpoint TEXT NOT NULL,
        p256dh TEXT NOT NULL,
        auth TEXT NOT NULL
      ) STRICT;
      """,
    then: { try PushTargets.makeKey(in: $0) })
}
