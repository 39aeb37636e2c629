extension PostgreSQLMigration {
  /// How many computers have asked by a code, and the indices of pages: see ``Migration/joinPages``. The trigger counts what
  /// servers of a version before store, too. It exists before the computers are counted.
  static let joinPages = PostgreSQLMigration(
    name: "join pages", least: 1,
    sql: """
      ALTER TABLE join_code ADD COLUMN used bigint NOT NULL DEFAULT 0;

      CREATE FUNCTION count_join_code_use() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        UPDATE join_code SET used = used + 1 WHERE id = NEW.code;
        RETURN NULL;
      END $$;
      CREATE TRIGGER join_code_used AFTER INSERT ON joining FOR EACH ROW EXECUTE FUNCTION count_join_code_use();

      UPDATE join_code SET used = (SELECT count(*) FROM joining WHERE joining.code = join_code.id);

      CREATE INDEX join_code_age ON join_code (created_at, id);
      CREATE INDEX join_code_end ON join_code (expires_at);
      DROP INDEX joining_of_code;
      CREATE INDEX joining_of_code ON joining (code, asked_at, id);
      CREATE INDEX joined_by_code ON joining (code, asked_at, id) WHERE state = 'joined';
      CREATE INDEX joining_of_name ON joining (code, name);
      CREATE INDEX waiting_joining_age ON joining (asked_at, id) WHERE state = 'waiting';
      CREATE INDEX waiting_joining_name ON joining (lower(name COLLATE "C")) WHERE state = 'waiting';
      """)
}
