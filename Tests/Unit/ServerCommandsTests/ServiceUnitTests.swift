import Testing

@testable import ServerCommands

struct ServiceUnitTests {
  /// As systemctl(1) shows a unit with a drop-in.
  private static func shown(_ lines: String...) -> String {
    """
    # /lib/systemd/system/iampass-server.service
    [Service]
    LoadCredential=seal-keys:/etc/iampass-server/seal-keys
    SetCredential=seal-keys:none

    # /etc/systemd/system/iampass-server.service.d/override.conf
    [Service]
    \(lines.joined(separator: "\n"))
    """
  }

  @Test func theUnitNamesTheFileOfKeys() {
    #expect(ServiceUnit.sealKeys(in: Self.shown()) == "/etc/iampass-server/seal-keys")
    #expect(ServiceUnit.sealKeys(in: Self.shown("LoadCredential=other:/etc/other")) == "/etc/iampass-server/seal-keys")
    #expect(ServiceUnit.sealKeys(in: "[Service]\nExecStart=/usr/bin/iampass-server") == nil)
  }

  @Test func aDropInCountsInItsPlace() {
    #expect(ServiceUnit.sealKeys(in: Self.shown("LoadCredential=seal-keys:/srv/keys")) == "/srv/keys")
    for line in ["LoadCredential=", "LoadCredential=seal-keys", "LoadCredentialEncrypted=seal-keys:/srv/keys"] {
      #expect(ServiceUnit.sealKeys(in: Self.shown(line)) == nil, "\(line)")
    }
  }
}
