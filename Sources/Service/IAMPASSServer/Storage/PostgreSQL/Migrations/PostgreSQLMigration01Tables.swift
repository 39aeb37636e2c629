extension PostgreSQLMigration {
  /// The tables of SQLite's first 22 migrations. Truth values are 0 and 1, and times are Unix milliseconds, as there.
  /// `app_user` and `user_id` take the place of `user`, which is a function of PostgreSQL. `number` takes the place of
  /// SQLite's rowid: writers come one after another, so it is the order of commits.
  static let tables = PostgreSQLMigration(
    name: "tables", least: 1,
    sql: """
      -- Writers lock this empty table, one after another. No vacuum and no copy is in their way.
      CREATE TABLE write_turn ();

      -- The writes that were committed. A writer that had no answer asks here.
      CREATE TABLE committed_write (
        id text PRIMARY KEY,
        written_at bigint NOT NULL
      );
      CREATE INDEX committed_write_age ON committed_write (written_at);

      CREATE TABLE application (
        id text PRIMARY KEY,
        name text NOT NULL UNIQUE,
        secret text NOT NULL,
        created_at bigint NOT NULL,
        match_code bigint NOT NULL DEFAULT 1,
        walkaway bigint NOT NULL DEFAULT 1,
        answer_time bigint NOT NULL DEFAULT 60,
        greatest_duration bigint NOT NULL DEFAULT 2592000,
        hook text NOT NULL DEFAULT '',
        disabled_at bigint,
        silence_leaves bigint NOT NULL DEFAULT 0
      );

      CREATE TABLE app_user (
        id bigint PRIMARY KEY,
        application text NOT NULL REFERENCES application ON DELETE CASCADE,
        name text NOT NULL,
        last_used_at bigint,
        UNIQUE (application, name)
      );

      -- A phone that was cut off stays, so that it can be told so.
      CREATE TABLE phone (
        number bigint GENERATED ALWAYS AS IDENTITY,
        id text PRIMARY KEY,
        user_id bigint REFERENCES app_user ON DELETE SET NULL,
        public_key text NOT NULL,
        display_name text NOT NULL,
        presence text NOT NULL,
        registered_at bigint NOT NULL,
        cut_off_at bigint,
        heard_at bigint,
        is_silent bigint NOT NULL DEFAULT 0,
        has_page bigint NOT NULL DEFAULT 0,
        pin_mac text,
        looked_at bigint
      );
      CREATE UNIQUE INDEX one_live_phone_a_user ON phone (user_id) WHERE cut_off_at IS NULL;
      CREATE INDEX phone_user ON phone (user_id);

      CREATE TABLE link (
        number bigint GENERATED ALWAYS AS IDENTITY,
        code_hash text PRIMARY KEY,
        user_id bigint NOT NULL REFERENCES app_user ON DELETE CASCADE,
        display_name text NOT NULL,
        replaces_phone bigint NOT NULL,
        expires_at bigint NOT NULL,
        used_at bigint
      );
      CREATE INDEX link_user ON link (user_id);

      CREATE TABLE host_credential (
        id text PRIMARY KEY,
        application text NOT NULL REFERENCES application ON DELETE CASCADE,
        name text NOT NULL,
        host text NOT NULL,
        secret text NOT NULL,
        created_at bigint NOT NULL,
        last_used_at bigint,
        revoked_at bigint
      );
      CREATE UNIQUE INDEX one_usable_credential_a_name ON host_credential (application, name) WHERE revoked_at IS NULL;

      -- A session outlives its user: its client must be able to learn that it was closed.
      CREATE TABLE session (
        number bigint GENERATED ALWAYS AS IDENTITY,
        id text PRIMARY KEY,
        token text NOT NULL UNIQUE,
        secret text NOT NULL,
        application text NOT NULL REFERENCES application ON DELETE CASCADE,
        user_id bigint REFERENCES app_user ON DELETE SET NULL,
        source text NOT NULL,
        context text NOT NULL,
        answer_nonce text NOT NULL,
        status text NOT NULL,
        ending text,
        started_at bigint NOT NULL,
        duration bigint NOT NULL,
        approved_at bigint,
        collected_at bigint,
        ended_at bigint,
        delivered text NOT NULL,
        delivered_at bigint NOT NULL,
        credential text REFERENCES host_credential ON DELETE SET NULL,
        reply_secret text NOT NULL,
        match_code text,
        method text NOT NULL DEFAULT 'acceptance',
        held_back bigint NOT NULL DEFAULT 0,
        address text,
        answer_time bigint NOT NULL DEFAULT 60,
        boot_id text,
        challenge text,
        id_token_nonce text
      );
      CREATE INDEX session_user_id ON session (user_id);
      CREATE INDEX live_session ON session (user_id) WHERE ended_at IS NULL;
      CREATE INDEX live_session_of_credential ON session (credential) WHERE ended_at IS NULL;
      CREATE INDEX ended_session ON session (ended_at) WHERE ended_at IS NOT NULL;
      CREATE INDEX denied_session ON session (user_id, ended_at) WHERE ending IN ('DENIED', 'NOT_ME', 'WRONG_CODE');
      CREATE INDEX recent_match_code ON session (user_id, ended_at)
        WHERE match_code IS NOT NULL AND ended_at IS NOT NULL;

      CREATE TABLE spent_nonce (
        client text NOT NULL,
        nonce text NOT NULL,
        forget_at bigint NOT NULL,
        spent_at bigint NOT NULL,
        PRIMARY KEY (client, nonce)
      );
      CREATE INDEX spent_nonce_time ON spent_nonce (spent_at);
      CREATE TABLE forgotten_nonces (
        number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        first bigint NOT NULL,
        last bigint NOT NULL
      );
      CREATE TABLE restored_copy (nonces_spent_until bigint);

      CREATE TABLE push_key (
        id bigint PRIMARY KEY CHECK (id = 1),
        private_key text NOT NULL
      );
      CREATE TABLE push_subscription (
        phone text PRIMARY KEY REFERENCES phone ON DELETE CASCADE,
        endpoint text NOT NULL,
        p256dh text NOT NULL,
        auth text NOT NULL
      );

      CREATE TABLE source_block (
        user_id bigint NOT NULL REFERENCES app_user ON DELETE CASCADE,
        source text NOT NULL,
        until bigint NOT NULL,
        PRIMARY KEY (user_id, source)
      );

      CREATE TABLE phone_credential (
        phone text PRIMARY KEY REFERENCES phone ON DELETE CASCADE,
        credential text NOT NULL,
        public_key text NOT NULL,
        counter bigint NOT NULL,
        added_at bigint NOT NULL
      );

      -- Outlives its session, its phone and its user: what was signed is kept.
      CREATE TABLE answer (
        number bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
        session text PRIMARY KEY,
        phone text NOT NULL,
        public_key text NOT NULL,
        statement text NOT NULL,
        signature text NOT NULL,
        context text NOT NULL,
        assertion text,
        credential_key text,
        answered_at bigint NOT NULL
      );
      CREATE INDEX answer_age ON answer (answered_at);

      CREATE TABLE host_boot (
        number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        credential text NOT NULL REFERENCES host_credential ON DELETE CASCADE,
        boot_id text NOT NULL,
        signed_at bigint NOT NULL,
        UNIQUE (credential, boot_id)
      );

      CREATE TABLE console_link (
        code_hash text PRIMARY KEY,
        expires_at bigint NOT NULL
      );
      CREATE TABLE console_session (
        key_hash text PRIMARY KEY,
        form_token text NOT NULL,
        expires_at bigint NOT NULL,
        used_at bigint NOT NULL,
        address text
      );
      CREATE TABLE service_fact (
        name text PRIMARY KEY,
        value text NOT NULL
      );
      CREATE TABLE service_clock (
        id bigint PRIMARY KEY CHECK (id = 1),
        boot_id text,
        since_boot bigint NOT NULL,
        time bigint NOT NULL,
        unix_time bigint NOT NULL,
        is_settled bigint NOT NULL
      );
      CREATE TABLE signing_key (
        number bigint GENERATED ALWAYS AS IDENTITY,
        id text PRIMARY KEY,
        private_key text NOT NULL,
        made_at bigint NOT NULL
      );
      """)
}
