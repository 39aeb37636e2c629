extension Migration {
  /// A signing key's removal has the time of the database's own clock, too.
  static let auditDates = Migration(
    "audit of signing keys' removals",
    sql: """
      DROP TRIGGER audit_noted;
      DROP TRIGGER audit_noted_late;
      CREATE TRIGGER audit_noted AFTER INSERT ON audit
      WHEN NEW.event NOT IN ('walked away', 'back', 'user added', 'user deleted', 'application secret renewed',
        'credential renamed', 'settings changed', 'signing key removed')
      BEGIN
        UPDATE audit SET noted_at = NEW.at, at = NEW.at + coalesce((SELECT unix_time - time FROM service_clock), 0)
        WHERE id = NEW.id;
      END;
      CREATE TRIGGER audit_noted_late AFTER INSERT ON audit
      WHEN NEW.event IN ('walked away', 'back', 'user added', 'user deleted', 'application secret renewed',
        'credential renamed', 'settings changed', 'signing key removed')
      BEGIN
        UPDATE audit SET noted_at = coalesce((SELECT time FROM service_clock), NEW.at) WHERE id = NEW.id;
      END;
      """)
}
