import IAMPASSProtocol

/// The digests of the files of the phone's page.
///
/// The page's program comes from the service, so an attacker who controls the service could serve another one.
public enum PhonePageDigest {
  /// Lines in the form of `sha256sum`: 64 hexadecimal digits, two spaces, and the path below the service's address. The
  /// page itself comes first, and is at `register/CODE` too.
  public static let lines: [String] =
    [line(.phone, name: "")]
    + PageFile.beside.sorted { $0.key < $1.key }.map { line($0.value, name: $0.key) }

  private static func line(_ file: PageFile, name: String) -> String {
    "\(Digest.hexadecimal(Digest.sha256(file.bytes)))  phone/\(name)"
  }
}
