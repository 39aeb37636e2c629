/// The administrators' own application, for commands.
public enum Administrators {
  /// The application's name on phones.
  public static let application = AdministratorRule.application

  /// Whether phones and pages can show the name: 1 to 100 characters, none of them a control character.
  public static func isFit(_ name: String) -> Bool { AdministratorRule.isFit(name) }
}
