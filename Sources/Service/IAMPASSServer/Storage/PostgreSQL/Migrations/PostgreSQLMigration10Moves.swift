extension PostgreSQLMigration {
  /// A move of the database to another engine that is going on here, or that took everything away. 55IPM is of the class
  /// "object not in prerequisite state": nothing was committed.
  static let moves = PostgreSQLMigration(
    name: "moves", least: 1,
    sql: """
      CREATE TABLE database_move (
        id text PRIMARY KEY,
        state text NOT NULL,
        place text NOT NULL
      );
      CREATE FUNCTION database_moved() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        RAISE EXCEPTION 'the database was moved' USING ERRCODE = '55IPM';
      END $$;
      """)
}
