/// The version that every program prints for `--version`.
public enum ProductVersion {
  /// The version of packaging/debian/changelog. packaging/build-deb refuses to build if the two differ.
  public static let text = "0.10.0"
}
