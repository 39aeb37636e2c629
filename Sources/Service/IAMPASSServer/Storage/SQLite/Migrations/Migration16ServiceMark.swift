extension Migration {
  /// The first epoch is the time, in seconds: two databases rarely begin in the same second.
  static let serviceMark = Migration(
    "service mark",
    sql: """
      CREATE TABLE service_mark (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        epoch INTEGER NOT NULL,
        counter INTEGER NOT NULL
      ) STRICT;
      INSERT INTO service_mark (id, epoch, counter) VALUES (1, CAST(strftime('%s', 'now') AS INTEGER), 0);

      CREATE TRIGGER mark_asked AFTER INSERT ON session BEGIN
        UPDATE service_mark SET counter = counter + 1;
      END;
      CREATE TRIGGER mark_changed AFTER UPDATE OF status ON session WHEN NEW.status IS NOT OLD.status BEGIN
        UPDATE service_mark SET counter = counter + 1;
      END;
      """)
}
