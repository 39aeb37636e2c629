extension Migration {
  /// Denials until this time no longer keep requests from the user's phone: somebody who helps users lifted the block.
  static let liftedBlocks = Migration(
    "lifted blocks",
    sql: """
      ALTER TABLE user ADD COLUMN blocks_lifted_at INTEGER;

      CREATE TRIGGER audit_blocks_lifted AFTER UPDATE OF blocks_lifted_at ON user WHEN NEW.blocks_lifted_at IS NOT NULL
      BEGIN
        INSERT INTO audit (at, event, application, user, phone, account)
        VALUES (NEW.blocks_lifted_at, 'block lifted', (SELECT name FROM application WHERE id = NEW.application), NEW.id,
          (SELECT display_name FROM phone WHERE user = NEW.id AND cut_off_at IS NULL),
          (SELECT name FROM listed_user WHERE application = NEW.application AND user = NEW.id));
      END;
      """)
}
