extension Migration {
  static let approvals = Migration(
    "approvals that computers verify",
    sql: """
      ALTER TABLE session ADD COLUMN challenge TEXT;

      -- What the phone made of the secret in its registration link. The service cannot check it.
      ALTER TABLE phone ADD COLUMN pin_mac TEXT;
      """)
}
