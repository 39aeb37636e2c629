extension PostgreSQLMigration {
  /// What the audit's triggers call and what reads a table is in PL/pgSQL, which keeps its plans for as long as a connection
  /// lasts. PostgreSQL before 18 parses and plans a function in SQL at each call, unless its one expression can be put in
  /// the caller's place: that was a fifth of what a sign-in costs the database.
  static let keptPlans = PostgreSQLMigration(
    name: "kept plans", least: 1,
    sql: """
      CREATE OR REPLACE FUNCTION application_name(text) RETURNS text LANGUAGE plpgsql STABLE AS $$
      BEGIN
        RETURN (SELECT name FROM application WHERE id = $1);
      END $$;
      CREATE OR REPLACE FUNCTION application_of_user(bigint) RETURNS text LANGUAGE plpgsql STABLE AS $$
      BEGIN
        RETURN (SELECT application.name FROM app_user JOIN application ON application.id = app_user.application
          WHERE app_user.id = $1);
      END $$;
      -- A user may have several.
      CREATE OR REPLACE FUNCTION live_phone_name(bigint) RETURNS text LANGUAGE plpgsql STABLE AS $$
      BEGIN
        RETURN (SELECT display_name FROM phone WHERE user_id = $1 AND cut_off_at IS NULL LIMIT 1);
      END $$;
      CREATE OR REPLACE FUNCTION locum_user_name(of_application text, of_user bigint) RETURNS text LANGUAGE plpgsql STABLE
      AS $$
      BEGIN
        RETURN coalesce((SELECT name FROM listed_user WHERE application = of_application AND user_id = of_user),
          'user ' || of_user);
      END $$;
      CREATE OR REPLACE FUNCTION audit_session(event text, at bigint, told session) RETURNS void LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO audit (at, event, application, user_id, phone, session, host, service, account, tty, remote_host,
          address, credential, reason)
        VALUES (at, event, application_name(told.application), told.user_id,
          coalesce((SELECT named_phone(display_name, name) FROM phone
            WHERE id = told.answered_by AND told.asked IS NOT NULL), live_phone_name(told.user_id)), told.id,
          context_part(told.context, 'host'), context_part(told.context, 'service'), context_part(told.context, 'user'),
          context_part(told.context, 'tty'), context_part(told.context, 'remote_host'), told.address,
          (SELECT name FROM host_credential WHERE id = told.credential), told.ending);
      END $$;
      """)
}
