/// What `--version` says, in all programs.
public enum ProductVersion {
  /// The version of packaging/debian/changelog; packaging/build-deb refuses to build where the two differ.
  public static let text = "0.10.0"
}
