import CommandSupport
import Testing

@testable import ServerCommands

@Suite struct ServiceSettingsTests {
  @Test func theLastValueHolds() throws {
    let settings = ServiceSettings("LISTEN=a\n  LISTEN='b'\n#LISTEN=c\n")
    #expect(try settings.value(.listen) == "b")
    #expect(try ServiceSettings("LISTEN=\n").value(.listen) == nil)
    #expect(try ServiceSettings("#LISTEN=a\n").value(.listen) == nil)
  }

  @Test func aNewValueStandsBehindItsExample() {
    var settings = ServiceSettings("# first\n#LISTEN=x\n# last\n")
    settings.set(.listen, to: "[::]:443")
    settings.set(.certbot, to: "/live")
    #expect(settings.text == "# first\n#LISTEN=x\nLISTEN=[::]:443\n# last\nCERTBOT=/live\n")
  }

  @Test func aChangedValueKeepsItsPlaceAndTheOthers() {
    var settings = ServiceSettings("LISTEN=a\nOPTIONS=--log-level debug\nOTHER=1")
    settings.set(.listen, to: "b")
    #expect(settings.text == "LISTEN=b\nOPTIONS=--log-level debug\nOTHER=1\n")
  }

  @Test(arguments: [
    "--public-url https://a --log-level debug", "--public-url=https://a --log-level debug", "--log-level debug",
  ])
  func theAddressIsReplacedAmongTheOptions(_ options: String) throws {
    var settings = ServiceSettings("OPTIONS=\"\(options)\"\n")
    #expect(try settings.option(.publicURL) == (options.contains("a ") ? "https://a" : nil))
    try settings.set(.publicURL, to: "https://b")
    #expect(settings.text == "OPTIONS=--public-url https://b --log-level debug\n")
    #expect(try settings.option(.publicURL) == "https://b")
  }

  @Test func theContactStandsBesideTheAddress() throws {
    var settings = ServiceSettings("OPTIONS=--public-url https://a --push-contact=mailto:x@a\n")
    #expect(try settings.option(.pushContact) == "mailto:x@a")
    try settings.set(.pushContact, to: "mailto:y@b")
    #expect(settings.text == "OPTIONS=--push-contact mailto:y@b --public-url https://a\n")
  }

  @Test func theProxyStandsBesideTheContact() throws {
    var settings = ServiceSettings("OPTIONS=--public-url https://a --push-contact mailto:x@a\n")
    #expect(try settings.option(.pushProxy) == nil)
    for proxy in ["http://old.lan:3128", "http://proxy.lan:3128"] { try settings.set(.pushProxy, to: proxy) }
    #expect(
      settings.text == "OPTIONS=--push-proxy http://proxy.lan:3128 --public-url https://a --push-contact mailto:x@a\n")
    #expect(try settings.option(.pushProxy) == "http://proxy.lan:3128")
  }

  @Test(arguments: ["a\\", "'a b' c", "\"a\\\"b\"", "it's"])
  func aValueThatIsNotPlainIsNotChanged(_ value: String) {
    var settings = ServiceSettings("OPTIONS=\(value)\n")
    #expect(throws: SettingNotPlain(key: .options)) { try settings.set(.publicURL, to: "https://b") }
    #expect(settings.text == "OPTIONS=\(value)\n")
  }

  @Test func aRemovedValueLeavesItsExample() {
    var settings = ServiceSettings("#CERTBOT=x\nCERTBOT=a\nCERTBOT=b\n")
    settings.remove(.certbot)
    #expect(settings.text == "#CERTBOT=x\n")
  }
}

@Suite struct CurrentSetupTests {
  private let folder = SetupFolder(path: "/etc/iampass-server", group: 0)

  private func current(_ text: String) throws -> CurrentSetup {
    try CurrentSetup(ServiceSettings(text), folder: folder)
  }

  @Test func beforeTheFirstSetupNothingIsKnown() throws {
    let found = try current("#LISTEN=127.0.0.1:8443\n")
    #expect(found.name == nil && found.listen == nil && found.certificate == nil && found.publicURL == nil)
  }

  @Test func theCertificateIsKnownByItsPlace() throws {
    #expect(try current("TLS_CERT=/etc/iampass-server/own/service.pem\n").certificate == .own)
    #expect(
      try current("TLS_CERT=/etc/iampass-server/certbot.pem\nCERTBOT=/live/a\n").certificate
        == .certbot(folder: "/live/a"))
    #expect(try current("TLS_CERT=/c\nTLS_KEY=/k\n").certificate == .files(certificate: "/c", key: "/k"))
  }

  @Test func theProxyIsKnown() throws {
    let found = try current("OPTIONS=--public-url https://a.example --push-proxy=http://proxy.lan/\n")
    #expect(found.pushProxy == "http://proxy.lan/" && found.pushContact == nil)
    #expect(try current("OPTIONS=--public-url https://a.example\n").pushProxy == nil)
  }

  @Test func theConsolesAddressIsKnown() throws {
    let options = "OPTIONS=--public-url https://a.example --console-listen 127.0.0.1:9443"
    #expect(try current(options + "\n").consoleURL == "https://127.0.0.1:9443")
    #expect(try current(options + " --console-url https://b.example\n").consoleURL == "https://b.example")
    #expect(try current("OPTIONS=--public-url https://a.example\n").consoleURL == nil)
  }

  @Test(arguments: ["https://a.example", "https://a.example/", "https://a.example:8443"])
  func theNameIsInTheAddress(_ url: String) throws {
    #expect(try current("OPTIONS=--public-url \(url)\n").name == PublicName("a.example"))
  }

  @Test func anIPv6AddressKeepsItsColons() throws {
    #expect(try current("OPTIONS=--public-url https://[2001:db8::1]\n").name == PublicName("2001:db8::1"))
    #expect(try current("OPTIONS=--public-url https://[2001:db8::1]:8443\n").name == PublicName("2001:db8::1"))
  }

  @Test func anAddressWithAPathIsTheAdministratorsOwn() {
    #expect(throws: CommandProblem.self) { try current("OPTIONS=--public-url https://a.example/iampass\n") }
  }
}
