import Glibc
import HostState
import HostSystem
import PresenceLink
import Testing

private let digest = String(repeating: "0123456789abcdef", count: 4)
private let line = "alice 00:AA:01:00:00:00 A4:C3:F0:11:22:33 \(digest)"

private func phone(_ user: String = "alice", _ last: String = "33") -> BoundPhone {
  BoundPhone(
    user: UnixUsername(validating: user)!, adapter: BluetoothAddress("00:AA:01:00:00:00")!,
    phone: BluetoothAddress("A4:C3:F0:11:22:\(last)")!, keyDigest: digest)
}

@Suite struct BoundPhonesTests {
  @Test func linesAreReadAndOthersRefuseTheFile() throws {
    let text = "# phones\n\n  \(line)\nbob\t00:AA:01:00:00:00 A4:C3:F0:11:22:34 \(digest)\n"
    let read = try BoundPhones(parsing: Array(text.utf8))
    #expect(read.phones == [phone(), phone("bob", "34")])
    #expect(read.phones(of: UnixUsername(validating: "bob")!) == [phone("bob", "34")])
    for bad in [
      "alice", line + " more", line.replacing("alice ", with: ""), line.uppercased(), String(line.dropLast()),
      line + "0",
      line.replacing("A4:C3", with: "A4C3"), line.replacing("alice", with: "al\u{0}ce"),
    ] {
      #expect(throws: BoundPhonesError.badLine(2), "\(bad)") { try BoundPhones(parsing: Array("#\n\(bad)\n".utf8)) }
    }
    #expect(throws: BoundPhonesError.phoneTwice(line: 2)) {
      try BoundPhones(parsing: Array("\(line)\n\(line.replacing("alice", with: "bob"))\n".utf8))
    }
    let many = (0..<17).map { "u 00:AA:01:00:00:00 A4:C3:F0:11:22:\(10 + $0) \(digest)" }.joined(separator: "\n")
    #expect(throws: BoundPhonesError.tooManyPhones) { try BoundPhones(parsing: Array(many.utf8)) }
  }

  @Test func aPhoneIsBoundOnceAndWhatElseStandsThereStays() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/presence"
    #expect(try BoundPhones(path: path).phones.isEmpty)
    try BoundPhonesEditor.bind(phone(), inFile: path)
    try BoundPhonesEditor.bind(phone("bob", "34"), inFile: path)
    var moved = phone("bob")
    moved.keyDigest = String(digest.reversed())
    try BoundPhonesEditor.bind(moved, inFile: path)
    #expect(try BoundPhones(path: path).phones == [phone("bob", "34"), moved])
    var status = stat()
    #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
    #expect(try BoundPhonesEditor.remove(moved.phone, fromFile: path))
    #expect(try !BoundPhonesEditor.remove(moved.phone, fromFile: path))
    #expect(try BoundPhones(path: path).phones == [phone("bob", "34")])
  }

  @Test func aFileOfOthersOrWithABadLineIsNotEdited() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/presence"
    try AtomicFile.write(Array("alice\n".utf8), to: path, mode: 0o600)
    #expect(throws: BoundPhonesError.badLine(1)) { try BoundPhonesEditor.bind(phone(), inFile: path) }
    try AtomicFile.write(Array("\(line)\n".utf8), to: path, mode: 0o644)
    #expect(throws: BoundPhonesError.self) { try BoundPhones(path: path) }
  }
}

@Suite struct BondedDeviceTests {
  private let adapter = BluetoothAddress("00:AA:01:00:00:00")!
  private let address = BluetoothAddress("A4:C3:F0:11:22:33")!
  private let text = """
    [General]
    Name=Alice's phone
    Class=0x5a020c
    Trusted=false

    [LinkKey]
    Key=000102030405060708090A0B0C0D0E0F
    Type=8
    PINLength=0

    """

  private func write(_ text: String, into folder: String, mode: mode_t = 0o600) throws {
    for made in [folder, "\(folder)/\(adapter)", "\(folder)/\(adapter)/\(address)", "\(folder)/\(adapter)/cache"] {
      mkdir(made, 0o700)
    }
    try AtomicFile.write(Array(text.utf8), to: "\(folder)/\(adapter)/\(address)/info", mode: UInt32(mode))
  }

  @Test func aBondIsReadWithTheDigestOfItsKey() throws {
    let keeper = try TemporaryFolder()
    defer { withExtendedLifetime(keeper) {} }
    let folder = keeper.path + "/bluetooth"
    #expect(try BondedDevice.all(in: folder).isEmpty)
    try write(text, into: folder)
    let found = try #require(try BondedDevice.all(in: folder).first)
    #expect(try BondedDevice.read(adapter: adapter, address: address, in: folder) == found)
    #expect(found.name == "Alice's phone")
    #expect(found.looksLikeAPhone)
    #expect(found.isAuthenticated)
    // printf '\0\1\2…\17' | sha256sum
    #expect(found.keyDigest == "be45cb2605bf36bebde684841a28f0fd43c69850a3dce5fedba69928ee3a8991")
  }

  @Test func whatIsNotAPhoneIsNotTakenForOne() throws {
    let keeper = try TemporaryFolder()
    defer { withExtendedLifetime(keeper) {} }
    let folder = keeper.path + "/bluetooth"
    try write(text.replacing("0x5a020c", with: "0x240404").replacing("Type=8", with: "Type=4"), into: folder)
    let found = try #require(try BondedDevice.read(adapter: adapter, address: address, in: folder))
    #expect(!found.looksLikeAPhone)
    #expect(!found.isAuthenticated)
  }

  @Test(arguments: ["Key=0001", "Key=000102030405060708090A0B0C0D0E0G", "Other=1"])
  func withoutAWholeKeyThereIsNoBond(key: String) throws {
    let keeper = try TemporaryFolder()
    defer { withExtendedLifetime(keeper) {} }
    let folder = keeper.path + "/bluetooth"
    try write(text.replacing("Key=000102030405060708090A0B0C0D0E0F", with: key), into: folder)
    #expect(try BondedDevice.read(adapter: adapter, address: address, in: folder) == nil)
  }

  @Test func keysThatOthersCanReadAreNotUsed() throws {
    let keeper = try TemporaryFolder()
    defer { withExtendedLifetime(keeper) {} }
    let folder = keeper.path + "/bluetooth"
    try write(text, into: folder, mode: 0o644)
    #expect(throws: FileError.self) { try BondedDevice.read(adapter: adapter, address: address, in: folder) }
  }
}
