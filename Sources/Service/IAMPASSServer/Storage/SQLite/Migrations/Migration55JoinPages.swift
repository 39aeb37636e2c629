extension Migration {
  /// How many computers have asked by a code, kept by a trigger, and the indices by which pages of codes and of computers
  /// that asked, a waiting computer's name, and codes that expired long ago are found. A computer that is forgotten has used
  /// its code all the same: the count never falls.
  static let joinPages = Migration(
    "join pages",
    sql: """
      ALTER TABLE join_code ADD COLUMN used INTEGER NOT NULL DEFAULT 0;
      UPDATE join_code SET used = (SELECT count(*) FROM joining WHERE joining.code = join_code.id);
      CREATE TRIGGER join_code_used AFTER INSERT ON joining BEGIN
        UPDATE join_code SET used = used + 1 WHERE id = NEW.code;
      END;

      CREATE INDEX join_code_age ON join_code (created_at, id);
      CREATE INDEX join_code_end ON join_code (expires_at);
      DROP INDEX joining_of_code;
      CREATE INDEX joining_of_code ON joining (code, asked_at, id);
      CREATE INDEX joined_by_code ON joining (code, asked_at, id) WHERE state = 'joined';
      CREATE INDEX joining_of_name ON joining (code, name);
      CREATE INDEX waiting_joining_age ON joining (asked_at, id) WHERE state = 'waiting';
      CREATE INDEX waiting_joining_name ON joining (lower(name COLLATE BINARY)) WHERE state = 'waiting';
      """)
}
